/** A binary min-heap. Items that compare equal come out in the order they went in. */
export class Heap<T> {
  readonly #compare: (a: T, b: T) => number;
  readonly #items: { readonly value: T; readonly order: number }[] = [];
  #pushed = 0;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  push(value: T): void {
    let index = this.#items.push({ value, order: this.#pushed++ }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#before(index, parent)) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  pop(): T | undefined {
    const last = this.#items.length - 1;
    if (last < 0) return undefined;
    this.#swap(0, last);
    const top = this.#items.pop();
    for (let index = 0; ;) {
      const left = 2 * index + 1;
      if (left >= last) break;
      const smaller = left + 1 < last && this.#before(left + 1, left) ? left + 1 : left;
      if (!this.#before(smaller, index)) break;
      this.#swap(index, smaller);
      index = smaller;
    }
    return top?.value;
  }

  #before(a: number, b: number): boolean {
    const [left, right] = [this.#items[a], this.#items[b]];
    if (left === undefined || right === undefined) return false;
    const difference = this.#compare(left.value, right.value);
    return difference < 0 || (difference === 0 && left.order < right.order);
  }

  #swap(a: number, b: number): void {
    const [left, right] = [this.#items[a], this.#items[b]];
    if (left === undefined || right === undefined) return;
    this.#items[a] = right;
    this.#items[b] = left;
  }
}
