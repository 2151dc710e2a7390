import fc from "fast-check";

/** Keys that JavaScript, JSON or the Functions host treat in a way of their own. */
const oddKeys = fc.constantFrom("__proto__", "constructor", "toString", "id", "v", "", "dequeueCount");

/** Values that a stranger may put where another is expected. */
const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    0.5,
    1e21,
    2 ** 53,
    Number.MAX_VALUE,
    "",
    "..",
    "\u0000",
    "\ud800",
  ),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.string({ minLength: 1_000, maxLength: 2_000 }),
  fc.jsonValue({ maxDepth: 3 }),
  fc.constant(deep(1_000)),
);

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

type Path = readonly (string | number)[];

const pathsIn = (value: unknown, path: Path = []): Path[] =>
  typeof value === "object" && value !== null
    ? [path, ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...path, key]))]
    : [path];

function changedAt(value: unknown, path: Path, change: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change;
  const copy: Record<string, unknown> = Array.isArray(value)
    ? ([...value] as unknown as Record<string, unknown>)
    : { ...(value as Record<string, unknown>) };
  if (rest.length === 0 && change === undefined) delete copy[key];
  else copy[key] = changedAt(copy[key], rest, change);
  return copy;
}

/** The value with some of its parts replaced by odd ones or left out, and odd keys added. */
const mutated = (value: object): fc.Arbitrary<unknown> =>
  fc
    .array(fc.tuple(fc.constantFrom(...pathsIn(value)), fc.option(oddValue, { nil: undefined })), {
      maxLength: 3,
    })
    .chain((changes) =>
      fc.option(fc.tuple(oddKeys, oddValue)).map((more) => {
        const changed = changes.reduce<unknown>((so, [path, change]) => {
          try {
            return changedAt(so, path, change);
          } catch {
            return so;
          }
        }, value);
        if (more === null || typeof changed !== "object" || changed === null) return changed;
        return Object.fromEntries([...Object.entries(changed), more]);
      }),
    );

/** What may come as bytes: JSON near to these values, any JSON, base64, cut or broken text, and plain bytes. */
export function hostileBytes(values: readonly object[]): fc.Arbitrary<Buffer> {
  const near = fc.oneof(...values.map(mutated)).map((value) => JSON.stringify(value) ?? "");
  return fc.oneof(
    { weight: 4, arbitrary: near.map((text) => Buffer.from(text)) },
    fc.json().map((text) => Buffer.from(text)),
    near.map((text) => Buffer.from(Buffer.from(text).toString("base64"))),
    fc.tuple(near, fc.nat(200)).map(([text, length]) => Buffer.from(text.slice(0, length))),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom("\uFEFF{}", "[".repeat(5_000), '{"a":'.repeat(5_000), "NaN", "1e999")
      .map((text) => Buffer.from(text)),
  );
}

/** Metadata as storage gives it back: lower-case keys, any values. */
export const hostileMetadata = (values: readonly Readonly<Record<string, string>>[]) =>
  fc
    .tuple(
      fc.constantFrom(...values),
      fc.dictionary(
        fc.oneof(fc.constantFrom(...new Set(values.flatMap(Object.keys))), fc.string({ maxLength: 5 })),
        fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom("-1", "1e99", "0x10", "..", "NaN", " 1", "")),
        { maxKeys: 3 },
      ),
    )
    .map(([value, change]) => ({ ...value, ...change }));
