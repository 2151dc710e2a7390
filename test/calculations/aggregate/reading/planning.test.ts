import { describe, expect, test } from "vitest";
import { aggregateLimits } from "../../../../src/calculations/aggregate/limits.ts";
import { planRanges } from "../../../../src/calculations/aggregate/reading/planRanges.ts";
import type { ReadParams } from "../../../../src/calculations/aggregate/reading/readParams.ts";
import type { RangeInput } from "../../../../src/calculations/aggregate/records.ts";
import type { AttemptTime } from "../../../../src/calculations/contract.ts";
import { type FileAccess, type FileFact, filesOver } from "../../../../src/calculations/files.ts";
import { repeated } from "../../../support/generatedFiles.ts";
import { syntheticFiles } from "../../../support/syntheticFiles.ts";
import { readParams } from "./readAll.ts";

const { headsAtOnce, looksAtOnce, lookBytesMax, longHeadsAtOnce, recordBytesMax, firstReadBytes } =
  aggregateLimits;
const [kib, mib, gib] = [1024, 1024 ** 2, 1024 ** 3];
const head = "key,text,value\n";
const lines = {
  quoted: 'some key,"a text, quoted,\nof ""two"" lines",12.5\n',
  plain: "some key,a text without quotes,12.5\n",
};
const quoted = repeated(head, lines.quoted);
const plain = repeated(head, lines.plain);

const small = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    path: `data/${String(index).padStart(8, "0")}.csv`,
    bytes: 10_000,
    bytesAt: plain,
  }));

async function planned(
  access: FileAccess,
  { time, ...given }: Partial<ReadParams> & { time?: AttemptTime } = {},
  wanted: readonly string[] = ["value"],
): Promise<RangeInput[]> {
  const context = { files: filesOver(access), ...(time === undefined ? {} : { time }) };
  const ranges: RangeInput[] = [];
  for await (const range of planRanges(readParams(given), context, wanted)) ranges.push(range);
  return ranges;
}

describe("a plan", () => {
  test("reads each header once, many at the same time", async () => {
    const files = small(2_000);
    const { access, use } = syntheticFiles(files);
    const ranges = await planned(access);
    expect(ranges.map(({ file, from, to }) => [file.path, from, to])).toEqual(
      files.map(({ path, bytes }) => [path, head.length, bytes]),
    );
    expect(use).toMatchObject({ lists: 1, reads: 2_000, bytes: 2_000 * 10_000, callsAtOnce: headsAtOnce });
  });

  test("reads 64 KB of each range of a file with quotes", async () => {
    const bytes = 20 * gib;
    const { access, use } = syntheticFiles([{ path: "data/x.csv", bytes, bytesAt: quoted }]);
    const ranges = await planned(access);
    expect(ranges.length).toBe(640);
    expect(use.bytes).toBe(640 * firstReadBytes);
    expect(use.callsAtOnce).toBe(looksAtOnce);
  });

  test("reads half of a file without quotes, in bounded memory", async () => {
    const bytes = gib / 2;
    const { access, use } = syntheticFiles([{ path: "data/x.csv", bytes, bytesAt: plain }]);
    expect((await planned(access)).length).toBe(16);
    expect(use.bytes).toBeLessThan(15 * (recordBytesMax + lookBytesMax));
    expect(use.callsAtOnce).toBe(looksAtOnce);
    expect(use.bytesAtOnce).toBeLessThanOrEqual(looksAtOnce * lookBytesMax);
  });

  test.each(Object.values(lines))(
    "reads a file of short ranges at most one and a half times: %j",
    async (line) => {
      const bytes = head.length + line.length * Math.floor((200 * mib) / line.length);
      const { access, use } = syntheticFiles([{ path: "data/x.csv", bytes, bytesAt: repeated(head, line) }]);
      const ranges = await planned(access, { chunkBytes: mib });
      expect(ranges.length).toBeGreaterThanOrEqual(190);
      expect(use.bytes).toBeLessThan(1.5 * bytes);
      expect(use.bytesAtOnce).toBeLessThanOrEqual(looksAtOnce * lookBytesMax);
    },
  );

  test("holds few long headers at the same time", async () => {
    const bytesAt = repeated(`${"x".repeat(80 * kib)},1\n`, "1,2\n");
    const files = small(40).map((one) => ({ ...one, bytes: 4 * mib, bytesAt }));
    const { access, use } = syntheticFiles(files);
    expect((await planned(access, { header: false }, ["c2"])).length).toBe(40);
    const most = headsAtOnce * firstReadBytes + longHeadsAtOnce * 4 * mib;
    expect(use.bytesAtOnce).toBeGreaterThan(2 * 4 * mib);
    expect(use.bytesAtOnce).toBeLessThanOrEqual(most);
  });

  test("lists few files once and many twice, as it counts them before it reads them", async () => {
    for (const [count, lists] of [
      [5_000, 1],
      [5_001, 4],
    ] as const) {
      const { access, use } = syntheticFiles(small(count).map((one) => ({ ...one, bytes: 100 })));
      expect((await planned(access, virtualTime(60_000))).length).toBe(count);
      expect(use).toMatchObject({ lists, reads: count });
    }
  });
});

/** The time of an attempt, which passes only as storage takes it. */
function virtualTime(limitMs: number) {
  let ms = 0;
  const ended = new AbortController();
  const time: AttemptTime = { limitMs, spentMs: () => ms, ending: ended.signal };
  /** One call after the other takes so long. */
  const slow = async (callMs: number) => {
    ms += callMs;
    if (ms >= limitMs) ended.abort();
  };
  return { time, slow };
}
const sized = (gigabytes: number, name = "x") => ({
  path: `data/${name}.csv`,
  bytes: gigabytes * gib,
  bytesAt: quoted,
});

describe("a plan under a time limit", () => {
  test("that will not fit is refused within seconds, with sizes, the limit and what to do", async () => {
    const { time, slow } = virtualTime(20_000);
    const { access, use } = syntheticFiles([sized(500)], () => slow(10));
    await expect(planned(access, { time })).rejects.toMatchObject({
      code: "plan-too-long",
      message: expect.stringMatching(
        /^data\/, 1 file of 537 GB: a plan takes at least \d+ s, by the time of a sample of its reads, and the time limit is 20 s; --quoted-newlines false promises /,
      ),
    });
    expect(time.spentMs()).toBeLessThan(1_000);
    expect(use.reads).toBeLessThan(50);
  });

  test("that would not fit for its headers alone is not told to leave out what it does not do", async () => {
    const { time, slow } = virtualTime(5_000);
    const { access } = syntheticFiles(small(20_000), () => slow(5));
    await expect(planned(access, { time })).rejects.toThrow(
      /^data\/, 20,000 files of 200 MB: a plan takes at least \d+ s, .* limit is 5 s; raise LEASEFOLD_PACK_LIMIT_S/,
    );
  });

  test.each([1, 1.4])(
    "that just fits is planned, or runs out of time if it does not (%d × the limit)",
    async (factor) => {
      // 18 s for all headers, one after the other.
      const { time, slow } = virtualTime(20_000 / factor);
      const { access } = syntheticFiles(small(2_000), () => slow(9));
      const plan = planned(access, { time });
      if (factor === 1) expect((await plan).length).toBe(2_000);
      else await expect(plan).rejects.toMatchObject({ code: "time-limit" });
    },
  );

  test("that fits is planned, although its first file is slower than all others", async () => {
    const { time, slow } = virtualTime(8_000);
    const wait = ({ path }: FileFact) => slow(path === "data/a.csv" ? 10 : 0);
    const { access } = syntheticFiles([sized(2, "a"), sized(198, "b")], wait);
    expect((await planned(access, { time })).length).toBe(6_400);
  });

  test.each([
    [
      sized(1),
      /^data\/, 1 file of 2 GB: not planned within the time limit of 1 s; --quoted-newlines false promises /,
    ],
    [sized(0.01), /^data\/, 1 file of 11 MB: not planned within .* 1 s; raise LEASEFOLD_PACK_LIMIT_S/],
  ])("that does not end ends just before its limit, with what to do: %#", async (file, message) => {
    const { time, slow } = virtualTime(1_000);
    const { access } = syntheticFiles([file], async () => {
      await slow(1_000);
      await new Promise(() => {});
    });
    await expect(planned(access, { time })).rejects.toMatchObject({
      code: "time-limit",
      message: expect.stringMatching(message),
    });
  });

  test("that has no time left when its files are listed ends at once", async () => {
    const { time, slow } = virtualTime(1_000);
    const { access } = syntheticFiles([sized(1)], () => new Promise(() => {}));
    const list: FileAccess["list"] = async (...args) => {
      await slow(1_000);
      return access.list(...args);
    };
    await expect(planned({ ...access, list }, { time })).rejects.toMatchObject({ code: "time-limit" });
  });
});
