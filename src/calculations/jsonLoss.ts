/** Where JSON gives back something else than it was given. */
export interface JsonLoss {
  /** Such as `rows[2].when`; empty for the value itself. */
  readonly path: string;
  /** Such as `a Date`. */
  readonly was: string;
  readonly becomes: string;
}

/** The first place at which a value is not what JSON makes of it. */
export const firstJsonLoss = (value: unknown): JsonLoss | undefined => jsonLosses(value).next().value;

/**
 * The places at which a value is not what JSON makes of it: a Date, Map, Set, typed array, bigint, an instance of a
 * class, NaN and their like. A property that is `undefined` and one that is not there count as the same.
 */
export function* jsonLosses(value: unknown, path = ""): Generator<JsonLoss, undefined> {
  const loss = (was: string, becomes: string): JsonLoss => ({ path, was, becomes });
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) yield loss(String(value), "an error");
      return;
    case "object":
      if (value === null) return;
      break;
    case "bigint":
      yield loss("a bigint", "an error");
      return;
    default:
      yield loss(typeof value === "undefined" ? "undefined" : `a ${typeof value}`, "nothing");
      return;
  }
  if (Array.isArray(value)) {
    for (let place = 0; place < value.length; place += 1) {
      if (isKept(value[place])) continue;
      const inner = `${path}[${place}]`;
      if (value[place] === undefined) yield { path: inner, was: "undefined", becomes: "null" };
      else yield* jsonLosses(value[place], inner);
    }
    return;
  }
  const prototype = Object.getPrototypeOf(value);
  // Another realm's plain object, such as one from a thread, has another Object.prototype above null.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    yield loss(`a ${prototype.constructor?.name || "class instance"}`, shortOf(value));
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== undefined && !isKept(inner)) yield* jsonLosses(inner, path === "" ? key : `${path}.${key}`);
  }
}

/** Most of a large partial is of this kind, and takes no generator of its own. */
const isKept = (value: unknown): boolean =>
  value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

function shortOf(value: object): string {
  try {
    const text = JSON.stringify(value) ?? "nothing";
    return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
  } catch {
    return "an error";
  }
}
