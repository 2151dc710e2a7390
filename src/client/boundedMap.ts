/** Maps with at most `atOnce` calls under way; answers keep the order of the items. The first failure ends it. */
export async function boundedMap<T, U>(
  items: readonly T[],
  atOnce: number,
  map: (item: T) => Promise<U>,
): Promise<U[]> {
  const answers = new Array<U>(items.length);
  const rest = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of rest) answers[index] = await map(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  return answers;
}
