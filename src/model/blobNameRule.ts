/** Blob names have 1,024 characters (Naming and Referencing Containers, Blobs, and Metadata); ours share them with a prefix. */
const nameCharactersMax = 1_000;

/** The rule of blob names that this name breaks, or undefined. */
export function ruleBroken(name: unknown): string | undefined {
  if (typeof name !== "string" || name.length < 1 || name.length > nameCharactersMax) {
    return `use 1 to ${nameCharactersMax} characters`;
  }
  // Neither survives the way into a URL and back on every path.
  if (/[\p{Cc}\\]/u.test(name) || !name.isWellFormed())
    return "control characters and backslashes are not allowed";
  const parts = name.split("/");
  if (parts.length > 200 || parts.some((part) => part === "" || part.endsWith("."))) {
    return "no part between slashes may be empty or end with a dot";
  }
  return name.trim() === name ? undefined : "it cannot begin or end with a space";
}
