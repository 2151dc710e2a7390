/**
 * Order lines like those of TPC-H's dbgen, as CSV: its columns, value ranges and rules for dates and flags (TPC-H 3.0.1,
 * 4.2.3), not its bytes. Two columns more hold what query 1 multiplies.
 * Deterministic; a record has about 140 bytes.
 */
const lineitemColumns = [
  "orderkey",
  "partkey",
  "suppkey",
  "linenumber",
  "quantity",
  "extendedprice",
  "discount",
  "tax",
  "returnflag",
  "linestatus",
  "shipdate",
  "commitdate",
  "receiptdate",
  "shipinstruct",
  "shipmode",
  "comment",
  "disc_price",
  "charge",
] as const;

const instructions = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
const modes = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
const words = [
  "carefully",
  "final",
  "deposits",
  "sleep",
  "quickly, and",
  "ironic",
  'the "express"',
  "requests",
];

const dayMs = 86_400_000;
const firstOrder = Date.UTC(1992, 0, 1) / dayMs;
const lastOrder = Date.UTC(1998, 7, 2) / dayMs;
const current = Date.UTC(1995, 5, 17) / dayMs;

const dates = new Map<number, string>();
function dateOf(day: number): string {
  const known = dates.get(day) ?? new Date(day * dayMs).toISOString().slice(0, 10);
  dates.set(day, known);
  return known;
}

/** The CSV of `count` records in pieces of about a megabyte, the header first. */
export function* lineitemCsv(count: number, seed = 1): Generator<string> {
  let state = seed >>> 0;
  const below = (limit: number): number => {
    // Numerical Recipes' generator; its upper bits are good enough for made-up orders.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const one = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
  const cents = (value: number): string => (value / 100).toFixed(2);

  let piece = `${lineitemColumns.join(",")}\n`;
  let order = 0;
  let line = 0;
  let lines = 0;
  let ordered = 0;
  for (let made = 0; made < count; made++) {
    if (line === lines) {
      order += 1;
      line = 0;
      lines = 1 + below(7);
      ordered = firstOrder + below(lastOrder - firstOrder + 1);
    }
    line += 1;
    const part = 1 + below(200_000);
    const quantity = 1 + below(50);
    const price = quantity * (90_000 + (Math.floor(part / 10) % 20_001) + 100 * (part % 1_000));
    const discount = below(11);
    const tax = below(9);
    const shipped = ordered + 1 + below(121);
    const received = shipped + 1 + below(30);
    const comment = `${one(words)} ${one(words)} ${one(words)}`;
    piece += [
      order,
      part,
      1 + below(10_000),
      line,
      quantity,
      cents(price),
      cents(discount),
      cents(tax),
      received <= current ? one(["R", "A"]) : "N",
      shipped > current ? "O" : "F",
      dateOf(shipped),
      dateOf(ordered + 30 + below(61)),
      dateOf(received),
      one(instructions),
      one(modes),
      /[",]/.test(comment) ? `"${comment.replaceAll('"', '""')}"` : comment,
      ((price * (100 - discount)) / 1e4).toFixed(4),
      ((price * (100 - discount) * (100 + tax)) / 1e6).toFixed(6),
    ].join(",");
    piece += "\n";
    if (piece.length > 2 ** 20) {
      yield piece;
      piece = "";
    }
  }
  yield piece;
}
