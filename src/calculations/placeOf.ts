/**
 * Where user code failed, as ` (mine.ts:12)`: the first place on the error's stack that is neither of this program,
 * nor of Node, nor of a package. Empty where there is none.
 */
export function placeOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  for (const line of stack.split("\n")) {
    if (/node:|[\\/]node_modules[\\/]/.test(line) || line.includes(import.meta.dirname)) continue;
    const [, file, row] = /[\\/]([^\\/\s()]+\.[cm]?[jt]s):(\d+)/.exec(line) ?? [];
    if (file !== undefined) return ` (${file}:${row})`;
  }
  return "";
}
