/** Whether a process of this machine lives; one that belongs to another user counts, a signal to it is only forbidden. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
