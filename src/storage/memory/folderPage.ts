import type { SortedList } from "./sortedList.ts";

/**
 * One page of a listing by `/`: below `prefix`, a name with a further slash stands for its folder, any other for
 * itself, and both count for the page, as with the service. The cursor is the item that the next page begins with.
 */
export function folderPage(
  names: SortedList<string>,
  prefix: string,
  cursor: string | undefined,
  pageSize: number,
): { readonly items: readonly string[]; readonly cursor?: string } {
  const items: string[] = [];
  let isBefore = (name: string) => name < (cursor ?? prefix);
  for (;;) {
    const [name] = names.from(isBefore);
    if (name === undefined || !name.startsWith(prefix)) return { items };
    const slash = name.indexOf("/", prefix.length);
    const item = slash < 0 ? name : name.slice(0, slash + 1);
    if (items.length === pageSize) return { items, cursor: item };
    items.push(item);
    // A folder is passed over whole, however many blobs it has.
    isBefore = (other) => other <= item || (slash >= 0 && other.startsWith(item));
  }
}
