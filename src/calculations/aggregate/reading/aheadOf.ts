/** Maps in order, with up to `count` at work at once. */
export async function* aheadOf<T, R>(
  items: AsyncIterable<T>,
  count: number,
  map: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const queue: Promise<R>[] = [];
  for await (const item of items) {
    const result = map(item);
    // Whoever stops early never hears of it.
    result.catch(() => {});
    if (queue.push(result) === count) yield queue.shift() as Promise<R>;
  }
  yield* queue;
}
