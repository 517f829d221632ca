/**
 * When to stop: at a signal, and when the process that started this command is gone. A `pulumi up` that was killed
 * can't tell its commands; an orphan that went on would work on a cluster that nobody watches.
 */
const LOOK_MS = 500;

export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (reason: string): void => {
    controller.abort(new Error(reason));
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      stop(`stopped by ${name}`);
    });
  }
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop("the process that started this command is gone");
  }, LOOK_MS).unref();
  return controller.signal;
}
