/** Runs the task for all items, so many at a time. Resolves with the results in the order of the items. */
export async function inParallel<Item, Result>(
  atOnce: number,
  items: readonly Item[],
  task: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const work = async () => {
    for (const [index, item] of left) results[index] = await task(item, index);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}
