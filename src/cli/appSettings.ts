import { InputError } from "../model/errors.ts";

/**
 * Settings of a function app: `local.settings.json`, the list of names and values that
 * `az functionapp config appsettings list` prints, or a plain object of them. Throws `InputError`.
 */
export function readAppSettings(text: string): Readonly<Record<string, string>> {
  const bad = (rule: string) => new InputError("invalid", "bad-settings-file", `settings: ${rule}`);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw bad("the file is not JSON");
  }
  if (typeof given !== "object" || given === null) throw bad("neither an object nor a list of settings");
  const { IsEncrypted, Values } = given as { IsEncrypted?: unknown; Values?: unknown };
  if (IsEncrypted === true) throw bad('it is encrypted; "func settings decrypt" makes it readable');
  const pairs = Array.isArray(given)
    ? given.map(({ name, value }: { name?: unknown; value?: unknown }) => [name, value] as const)
    : Object.entries(typeof Values === "object" && Values !== null ? Values : given);
  return Object.fromEntries(
    pairs.flatMap(([name, value]) =>
      typeof name === "string" && value != null ? [[name, String(value)]] : [],
    ),
  );
}
