/** Where JSON gives back something else than it was given. */
export interface JsonLoss {
  /** Such as `rows[2].when`; empty for the value itself. */
  readonly path: string;
  /** Such as `a Date`. */
  readonly was: string;
  readonly becomes: string;
}

/**
 * The first place at which a value is not what JSON makes of it: a Date, Map, Set, typed array, bigint, an instance
 * of a class, NaN and their like. A property that is `undefined` and one that is not there count as the same.
 */
export function firstJsonLoss(value: unknown, path = ""): JsonLoss | undefined {
  const loss = (was: string, becomes: string): JsonLoss => ({ path, was, becomes });
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : loss(String(value), "an error");
    case "object":
      if (value === null) return undefined;
      break;
    case "bigint":
      return loss("a bigint", "an error");
    default:
      return loss(typeof value === "undefined" ? "undefined" : `a ${typeof value}`, "nothing");
  }
  if (Array.isArray(value)) {
    for (let place = 0; place < value.length; place += 1) {
      if (value[place] === undefined) return { path: `${path}[${place}]`, was: "undefined", becomes: "null" };
      const inner = firstJsonLoss(value[place], `${path}[${place}]`);
      if (inner !== undefined) return inner;
    }
    return undefined;
  }
  const prototype = Object.getPrototypeOf(value);
  // Another realm's plain object, such as one from a thread, has another Object.prototype above null.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return loss(`a ${prototype.constructor?.name || "class instance"}`, shortOf(value));
  }
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const found = firstJsonLoss(inner, path === "" ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function shortOf(value: object): string {
  try {
    const text = JSON.stringify(value) ?? "nothing";
    return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
  } catch {
    return "an error";
  }
}
