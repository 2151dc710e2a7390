import fc from "fast-check";
import { expect, test } from "vitest";
import { decodes } from "../../../test/support/decodes.ts";
import { fuzzRuns } from "../../../test/support/fuzzRuns.ts";
import { hostileBytes } from "../../../test/support/hostileValues.ts";
import { decodePartial, encodePartial } from "../partial.ts";

const runs = fuzzRuns(500, 5_000);

test("a partial of sql decodes, or is corrupt: what its header lacks is found before it is used", () => {
  const reject = { file: "a", byte: 1, why: "b" };
  const header = {
    rejects: { count: 1, first: [reject] },
    schema: { columns: [["a", "JSON"]], tables: {} },
  } as const;
  const bytesOf = (json: Buffer): Uint8Array => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(json.length);
    return Buffer.concat([length, json]);
  };
  expect(
    decodePartial(encodePartial({ ...header, rows: [[Buffer.from("x"), Buffer.from("yz")], []] })),
  ).toMatchObject({
    ...header,
    rows: [[Buffer.from("x"), Buffer.from("yz")], []],
  });
  for (const other of [null, 1, {}, { ...header, rejects: 1 }, { ...header, schema: ["a"] }])
    expect(decodes(() => decodePartial(bytesOf(Buffer.from(JSON.stringify(other)))))).toBe(false);
  fc.assert(
    fc.property(hostileBytes([header]), (bytes) => {
      decodes(() => decodePartial(bytes));
      decodes(() => decodePartial(bytesOf(bytes)));
    }),
    runs,
  );
});
