import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { patienceMs } from "../../../test/support/patience.ts";
import { followFiles } from "../up/followFiles.ts";

let folder = "";
const over = new AbortController();
afterEach(async () => {
  over.abort();
  await rm(folder, { recursive: true, force: true });
});

test("up --watch tries again what did not load in time, and gives up what fails otherwise until it changes", async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-follow-"));
  const file = join(folder, "mine.mjs");
  await writeFile(file, "1");
  const slow = `${file}: loading the file has not ended after 15 s`;
  const errors = [slow, slow, undefined, "no calculation", undefined, slow, slow, slow, undefined];
  const checked: (string | undefined)[] = [];
  const restart = vi.fn(async () => {});
  const lines: string[] = [];
  const added = { next: async () => undefined, answer: async () => {} };
  const errorOf = async () => {
    checked.push(errors[checked.length]);
    return checked.at(-1);
  };
  const instances = [{ name: "node-1", restart }] as unknown as Parameters<
    typeof followFiles
  >[2]["instances"];
  const clock = {
    ...systemClock,
    sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(1, signal),
  };
  const cli = { clock, env: {}, folder, signal: over.signal };
  const following = followFiles(
    cli,
    { files: [file], here: () => [], watch: true, added, errorOf },
    { instances },
    (line) => lines.push(line),
  );
  const changed = async (text: string, checks: number) => {
    // Whole at once: a file that is being written may be seen empty.
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
    await vi.waitFor(() => expect(checked).toHaveLength(checks), patienceMs / 4);
  };
  await changed("22", 3);
  await vi.waitFor(() => expect(restart).toHaveBeenCalledTimes(1), patienceMs);
  expect(lines.map((line) => /tried again|keep|anew/.exec(line)?.[0])).toEqual([
    "tried again",
    "tried again",
    "anew",
  ]);
  await changed("333", 4);
  await changed("4444", 5);
  await vi.waitFor(() => expect(restart).toHaveBeenCalledTimes(2), patienceMs);
  await changed("55555", 8);
  await changed("666666", 9);
  await vi.waitFor(() => expect(restart).toHaveBeenCalledTimes(3), patienceMs);
  over.abort();
  await following;
  expect(lines.slice(3).map((line) => /tried again|keep|anew/.exec(line)?.[0])).toEqual([
    ...["keep", "anew", "tried again", "tried again", "keep", "anew"],
  ]);
});
