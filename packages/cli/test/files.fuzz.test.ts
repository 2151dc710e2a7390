import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { report } from "../../../src/app/api/report.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { LeasefoldError } from "../../../src/engine/model/errors.ts";
import { clientWorld } from "../../../test/client/clientWorld.ts";
import { fuzzRuns } from "../../../test/support/fuzzRuns.ts";
import { corpus, hostileBytes, hostileText } from "../../../test/support/hostileValues.ts";
import { localFileOf } from "../../../test/support/standInSupervisor.ts";
import { openData } from "../local/dataFolder.ts";
import { findLocalFile, localFilePath } from "../local/localFile.ts";
import { screenOf } from "../render/processScreen.ts";
import { visible } from "../render/terminal.ts";
import { upload } from "../upload/upload.ts";

/** What a stranger may have put where this machine reads: files, folders, and what is shown of them. */
let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "leasefold-fuzz-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Ends in a value or in one of our errors, which say what is wrong. */
async function ends<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof LeasefoldError) return undefined;
    throw error;
  }
}

/** None of these may reach a terminal. */
const controls = /[^\P{Cc}\t\n]|\p{Bidi_Control}|[\u00ad\u200b\u2028\u2029\u{e0000}-\u{e007f}]/u;

describe("a terminal", () => {
  test.each(corpus.filter((text) => text.length < 200))("obeys nothing of %j", (text) => {
    expect(visible(text, { styles: false })).not.toMatch(controls);
  });

  test("obeys nothing of any text, in whatever pieces it comes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(hostileText, hostileBytes([{ a: 1 }]))), async (pieces) => {
        let got = "";
        const made = new Writable({
          write(piece: Buffer, _encoding, done) {
            got += piece.toString();
            done();
          },
        });
        const stream = Object.assign(made, { isTTY: true, columns: 80, fd: 1 });
        const screen = screenOf(stream as unknown as NodeJS.WriteStream & { fd: 1 }, { NO_COLOR: "1" });
        for (const piece of pieces) await screen.write(piece);
        expect(got.replaceAll("\r\n", "")).not.toMatch(controls);
      }),
      fuzzRuns(300, 2_000),
    );
  });
});

test("a state file of instances, whatever is in it, is one of a living supervisor or none", async () => {
  const env = { XDG_RUNTIME_DIR: join(root, "runtime") };
  await mkdir(env.XDG_RUNTIME_DIR, { mode: 0o700 });
  const file = await localFilePath(env, root);
  const valid = localFileOf(2 ** 22);
  await fc.assert(
    fc.asyncProperty(hostileBytes([valid]), async (bytes) => {
      await writeFile(file, bytes, { mode: 0o600 });
      const found = await ends(() => findLocalFile(env, root));
      expect(found?.kind).not.toBe("found");
    }),
    fuzzRuns(200, 2_000),
  );
});

test("an account of kept data, whatever its file says, is one that the emulator takes, or is refused", async () => {
  const env = { XDG_STATE_HOME: join(root, "state") };
  const { location, account } = await openData("kept", env);
  const [file = ""] = await readdir(location);
  await fc.assert(
    fc.asyncProperty(hostileBytes([account]), async (bytes) => {
      await writeFile(join(location, file), bytes);
      const opened = await ends(() => openData("kept", env));
      if (opened !== undefined) expect(opened.account.name).toMatch(/^[a-z0-9]{3,24}$/);
    }),
    fuzzRuns(200, 2_000),
  );
});

test("a name of data, whatever it is, is a folder in the user's own state folder or refused", async () => {
  const env = { LEASEFOLD_STATE_DIR: join(root, "disk") };
  await fc.assert(
    fc.asyncProperty(fc.oneof(hostileText, fc.stringMatching(/^[a-z0-9./-]{1,9}$/)), async (name) => {
      const opened = await ends(() => openData(name, env));
      if (opened !== undefined) expect(dirname(opened.location)).toBe(join(root, "disk", "data"));
    }),
    fuzzRuns(200, 2_000),
  );
});

test("a path to upload, whatever it is, is uploaded below the container or refused", async () => {
  const { client, storage } = await clientWorld();
  const folder = join(root, "uploads");
  await mkdir(folder);
  await writeFile(join(folder, "a"), "1");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(hostileText, fc.constant("a")), { maxLength: 3 }),
      hostileText,
      async (paths, to) => {
        // A path out of the folder is the user's own wish, and this machine's files are no test data.
        const inside = paths.filter((path) => !/^[/.]|\.\./.test(path));
        await ends(() => upload(client, { folder, paths: inside, to }));
        expect(
          storage.operator.blobNames(client.names.inputs).filter((name) => /(^|\/)\.\.?(\/|$)/.test(name)),
        ).toEqual([]);
      },
    ),
    fuzzRuns(100, 2_000),
  );
});

test("the report of a run holds no markup of any of its texts", async () => {
  await fc.assert(
    fc.asyncProperty(hostileText, hostileText, hostileText, async (label, holder, message) => {
      const { client, putState } = await clientWorld();
      const run = await submit(client, { calculation: "sum", params: { to: 3, label }, id: "r1" });
      const terms = [{ term: 1, holder, atMs: 0 }];
      await putState(run, { phase: "failed", terms, code: label, error: { code: "x", message } });
      const page = await report(client, "r1");
      expect(page).not.toMatch(/<script|<img src=x|<iframe/i);
      expect(page.match(/<body class="report">/g)).toHaveLength(1);
    }),
    fuzzRuns(60, 2_000),
  );
});
