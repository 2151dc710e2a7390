import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fileHashNow } from "../../../src/engine/calculation/moduleGraph.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { patienceMs } from "../../../test/support/patience.ts";
import { loadFiles } from "../loadFiles.ts";
import { followFiles } from "../up/followFiles.ts";

let folder = "";
let over: AbortController;
let following: Promise<void> | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-follow-"));
  over = new AbortController();
});
afterEach(async () => {
  over.abort();
  await following;
  await rm(folder, { recursive: true, force: true });
});

type Following = Parameters<typeof followFiles>;
type Options = Pick<Following[1], "files" | "tryAll">;

/** `starts` has a list of the instances that restart at the same time, for each time. */
function follow(count: number, options: Options) {
  const lines: string[] = [];
  const starts: string[][] = [];
  let running = 0;
  const instances = Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    async restart() {
      if (running === 0) starts.push([]);
      running += 1;
      starts.at(-1)?.push(this.name);
      await systemClock.sleep(1);
      running -= 1;
    },
  })) as unknown as Following[2]["instances"];
  const sleep = (_ms: number, signal?: AbortSignal) => systemClock.sleep(1, signal);
  const added = { next: async () => undefined, answer: async () => {} };
  following = followFiles(
    { clock: { ...systemClock, sleep }, signal: over.signal },
    { here: () => [], watch: true, added, ...options },
    { instances },
    (line) => lines.push(line),
  );
  return { lines, starts };
}

/** Whole at once: a file that is being written may be seen empty. */
async function save(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
  return file;
}

const calculation = (imports = "") =>
  `${imports}; const none = () => {};
  export default { name: "mine", summary: "", params: { _zod: {} }, plan: none, compute: none, merge: none, zero: none };`;

const eventually = (assertion: () => void) => vi.waitFor(assertion, patienceMs / 4);

test("up --watch tries again what did not load in time, and gives up what fails otherwise until it changes", async () => {
  const file = await save("mine.mjs", "1");
  const slow = `${file}: loading the file has not ended after 15 s`;
  const errors = [slow, slow, undefined, "no calculation", undefined, slow, slow, slow, undefined];
  let checks = 0;
  const tryAll = async () => {
    const url = pathToFileURL(file).href;
    const error = errors[checks];
    checks += 1;
    return { error, hashes: new Map(error === undefined ? [[url, fileHashNow(url)]] : []) };
  };
  const { lines, starts } = follow(1, { files: [file], tryAll });
  const changed = async (text: string, until: number) => {
    await save("mine.mjs", text);
    await eventually(() => expect(checks).toBe(until));
  };
  await changed("22", 3);
  await eventually(() => expect(starts).toHaveLength(1));
  await changed("333", 4);
  await changed("4444", 5);
  await eventually(() => expect(starts).toHaveLength(2));
  await changed("55555", 8);
  await changed("666666", 9);
  await eventually(() => expect(starts).toHaveLength(3));
  expect(lines.map((line) => /tried again|keep|restart/.exec(line)?.[0])).toEqual([
    ...["tried again", "tried again", "restart", "keep", "restart"],
    ...["tried again", "tried again", "keep", "restart"],
  ]);
});

test("a file that is first imported while up --watch runs is watched from then on, and one that lacks is loaded once it is there", async () => {
  const file = await save("mine.mjs", calculation());
  await loadFiles([file], { signal: over.signal });
  const { lines, starts } = follow(1, { files: [file] });
  await save("part.mjs", "export const part = 1;");
  await save("mine.mjs", calculation(`import "./part.mjs"`));
  await eventually(() => expect(starts).toHaveLength(1));
  await save("part.mjs", "export const part = 2;");
  await eventually(() => expect(starts).toHaveLength(2));
  await save("mine.mjs", calculation(`import "./part.mjs"; import "./later.mjs"`));
  await eventually(() =>
    expect(lines.at(-1)).toMatch(/keep what they have: .*Cannot find module .*later.mjs/),
  );
  await save("later.mjs", "export const later = ;");
  await eventually(() => expect(lines.at(-1)).toMatch(/^later.mjs has changed.*keep what they have/));
  await save("later.mjs", "export const later = 1;");
  await eventually(() => expect(starts).toHaveLength(3));
  expect(lines.at(-1)).toBe(
    "later.mjs has changed: the instances restart and load 3 files, half of them at a time",
  );
});

test("a file that is no longer imported is not watched, and one that is renamed is loaded under its new name", async () => {
  const file = await save("mine.mjs", calculation(`import "./part.mjs"`));
  await save("part.mjs", "export const part = 1;");
  await loadFiles([file], { signal: over.signal });
  const files = [file];
  const { lines, starts } = follow(1, { files });
  await save("mine.mjs", calculation());
  await eventually(() => expect(starts).toHaveLength(1));
  await rm(join(folder, "part.mjs"));
  await rm(file);
  await eventually(() => expect(lines).toContain(`${file} is gone: the instances no longer load it`));
  expect(files).toEqual([]);
  await save("mine.mjs", calculation());
  await eventually(() => expect(starts).toHaveLength(3));
  expect(files).toEqual([file]);
});

test("half of the instances restart at a time, so that others answer meanwhile", async () => {
  const file = await save("mine.mjs", calculation());
  await loadFiles([file], { signal: over.signal });
  const { starts } = follow(5, { files: [file] });
  await save("mine.mjs", calculation("1"));
  await eventually(() => expect(starts).toHaveLength(2));
  expect(starts).toEqual([
    ["node-2", "node-4"],
    ["node-1", "node-3", "node-5"],
  ]);
});
