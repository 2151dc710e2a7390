/** Whether a JSON value is an object, and no list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A JSON value as one types it: a text stands without quotes. */
export const valueText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** The rule for a number that JSON reads as Infinity, such as 1e400. */
export const doubleRule = "must be within the range of a double, about ±1.8e308";
