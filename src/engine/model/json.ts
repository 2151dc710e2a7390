/** Whether a JSON value is an object, and no list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A JSON value as one types it: a text stands without quotes. */
export const valueText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** The rule for a number that JSON reads as Infinity, such as 1e400. */
export const doubleRule = "must be within the range of a double, about ±1.8e308";

/** The content type of a result that lists files, see `fileList.ts`. */
export const fileListType = "application/vnd.leasefold.files+json";

/** `packSize` as `pack-size`, as options and error codes have it. */
export const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The option of a parameter: `--max-size` for `maxSize`. A name that is not camel-case stays as it is. */
export const optionOf = (name: string): string =>
  `--${/^[a-z][a-zA-Z0-9]*$/.test(name) ? kebab(name) : name}`;

/** `team=risk` as the value `risk` of `team`. */
export const pairsOf = (texts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    texts.map((text): [string, string] => {
      const [key = "", ...value] = text.split("=");
      return [key, value.join("=")];
    }),
  );
