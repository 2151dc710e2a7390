import fc from "fast-check";

/** Keys that JavaScript, JSON or the Functions host treat in a way of their own. */
const oddKeys = fc.constantFrom("__proto__", "constructor", "toString", "id", "v", "", "dequeueCount");

/** Texts that once broke a door, or opened one; each new one is added here, and every door gets them all. */
export const corpus: readonly string[] = [
  // A path out of a folder, a device, and the name of a file of the user.
  "../../../../etc/passwd",
  "..\\..\\x",
  "/dev/zero",
  "CON",
  // What a terminal obeys: the clipboard, a forged line, 8-bit controls, hidden and turned text.
  "\u001b]52;c;cm0gLXJmIH4=\u0007",
  "\r\u001b[2K\u001b[1Anode-9 leads",
  "\u009b2J\u009d52;c;eA==\u009c",
  "\u001b[8m\u202etxet",
  // What a page runs.
  `"'><img src=x onerror=alert(1)><script>alert(2)</script>`,
  "javascript:alert(1)",
  // What JSON, numbers and encodings hide.
  '{"__proto__":{"x":1}}',
  "\uFEFF{}",
  "1e999",
  "NaN",
  "\ud800",
  "\u0000",
  "a\nb",
  "0".repeat(64),
  "A".repeat(64),
  "x".repeat(100_000),
  "[".repeat(5_000),
  '{"a":'.repeat(5_000),
  `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
  // No date, and the largest whole numbers.
  "9000000000000000",
  "8640000000000001",
];

/** One of these, or any text of a stranger. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...corpus),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.tuple(fc.constantFrom(...corpus), fc.string({ maxLength: 5 })).map(([a, b]) => a + b),
);

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
    9e15,
    8.64e15,
    Number.MAX_VALUE,
    "",
    "..",
    "\u0000",
    "\ud800",
  ),
  fc.string({ unit: "binary", maxLength: 8 }),
  hostileText,
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
    fc.constantFrom(...corpus).map((text) => Buffer.from(text)),
  );
}

/** Metadata as storage gives it back: lower-case keys, any values. */
export const hostileMetadata = (values: readonly Readonly<Record<string, string>>[]) =>
  fc
    .tuple(
      fc.constantFrom(...values),
      fc.dictionary(
        fc.oneof(fc.constantFrom(...new Set(values.flatMap(Object.keys))), fc.string({ maxLength: 5 })),
        fc.oneof(
          fc.string({ maxLength: 20 }),
          hostileText,
          fc.constantFrom("-1", "1e99", "0x10", "..", "NaN", " 1", ""),
        ),
        { maxKeys: 3 },
      ),
    )
    .map(([value, change]) => ({ ...value, ...change }));
