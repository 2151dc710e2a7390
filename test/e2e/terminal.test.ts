import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Embedded, startEmbedded } from "../../packages/cli/local/embedded.ts";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { heartbeatBlobs, namesOf } from "../../src/engine/model/names.ts";
import { heartbeatWork, putHeartbeat } from "../support/heartbeatProcess.ts";

/** The built program on a pseudo-terminal: whatever a cell, a name, an error or a log line holds, the terminal obeys none of it. */
const bin = join(import.meta.dirname, "../../bin/leasefold.js");

/** Sets the clipboard, clears, conceals, does so in 8-bit controls, turns text around, and has no width. */
const battery =
  "\u001b]52;c;aGk=\u0007\u001b[2J\u001b[8mx\u009b2J\u009d52;c;eA==\u009c\r\u202eabc\u2066\u200b\u200d\ufeff\u00ad\u2028";
/** What metadata and names of blobs may hold of it. */
const unseen = "\u202eabc\u2066\u200b\u200d";
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these.
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

let folder: string;
let app: Embedded;

/** What a terminal gets from a command; script(1) gives it one. */
const onTerminal = (...args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const env = {
      ...{ PATH: process.env["PATH"], DataStorage: app.connectionString, NO_COLOR: "1", TERM: "xterm" },
      ...{ XDG_RUNTIME_DIR: join(folder, "run"), LEASEFOLD_CALCULATIONS: join(folder, "prints.mjs") },
    };
    const quoted = [process.execPath, bin, ...args].map((one) => `'${one.replaceAll("'", `'\\''`)}'`);
    const options = { cwd: folder, env, maxBuffer: 1e8 };
    // A terminal ends its lines with both characters.
    execFile("script", ["-qec", quoted.join(" "), "/dev/null"], options, (_error, out) =>
      resolve(out.replaceAll("\r\n", "\n")),
    );
  });

beforeAll(async () => {
  if (process.platform !== "linux") return;
  folder = await mkdtemp(join(tmpdir(), "leasefold-terminal-"));
  await mkdir(join(folder, "run"), { mode: 0o700 });
  const text = JSON.stringify(battery);
  await writeFile(
    join(folder, "prints.mjs"),
    `import { z } from "leasefold";
     const say = () => { for (const one of [console.log, console.error]) one(${text}); process.emitWarning(${text}); };
     say();
     export default { name: "prints", summary: ${text}, params: z.strictObject({ what: z.string().default(${text}) }),
       plan() { say(); return 2; },
       compute({ index }) { say(); if (index === 1) throw new Error(${text}); return ${text}; },
       merge(a, b) { return a + b; }, zero: () => "", finish: (all) => all };`,
  );
  await writeFile(
    join(folder, "throws.mjs"),
    `setTimeout(() => { throw new Error(${text}); }, 1); ${"await 1;".repeat(3)}`,
  );
  await writeFile(join(folder, "cells.csv"), `shop,note\nA,"${battery}"\nB,plain\n`);
  await writeFile(join(folder, `\u202egnp.csv`), "a\n1\n");
  app = await startEmbedded({ instances: 1, calculations: [join(folder, "prints.mjs")], onEvent: () => {} });
}, 120_000);

afterAll(async () => {
  await app?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

describe.skipIf(process.platform !== "linux")("a terminal obeys nothing that comes from data", () => {
  it("of a calculation that prints, warns and throws, here and in its threads", async () => {
    for (const args of [
      ...[
        ["try", "prints"],
        ["try", "prints", "--chunk", "1"],
        ["check", "./prints.mjs"],
        ["plan", "prints"],
      ],
      ...[
        ["calculations"],
        ["calculations", "prints"],
        ["check", "./throws.mjs"],
        ["check", `./${battery}.mjs`],
        [battery],
      ],
    ]) {
      const text = await onTerminal(...args);
      expect(text, args.join(" ")).not.toMatch(obeyed);
      expect(text.trim(), args.join(" ")).not.toBe("");
    }
    expect(await onTerminal("try", "prints", "--chunk", "1")).toContain("\\u{1b}]52;c;aGk=\\u{7}");
  });

  it("of cells, names, messages and lines in storage, by whatever command shows them", async () => {
    const storage = connectStorage({ connectionString: app.connectionString });
    const names = namesOf("leasefold");
    await onTerminal("upload", "cells.csv");
    const query = "select note, count(*) as n from data group by note";
    const source = ["--source", "leasefold-inputs/cells.csv", "--query", query, "--result-format", "csv"];
    const submitted = await onTerminal("submit", "sql", ...source, "--id", "cells", "--wait");
    expect(submitted).toContain("complete");
    await onTerminal("submit", "prints", "--id", "prints", "--attempts", "1", "--wait");
    // What others may have written.
    await storage.blobs.create(names.active, `stray${unseen}$(id)`, "");
    await storage.blobs.create(names.active, "paused", "", {
      metadata: { v: "1", uid: "u1", want: "paused" },
    });
    await storage.blobs.create(names.runs, "paused/spec.json", JSON.stringify({ v: 1, run: battery }));
    await putHeartbeat(
      { storage, names },
      `${heartbeatBlobs}${encodeURIComponent(battery).replaceAll("%", "=")}.boot1`,
      {
        works: [heartbeatWork(1)],
      },
    );
    await storage.queues.send(names.urgent, battery, { visibleInS: 3_600 }).catch(() => {});
    const shown: string[] = [];
    for (const line of [
      ...["runs", "status paused", "status prints", "failures prints", "logs prints", "workers", "leader"],
      ...["queues peek urgent", "inspect prints", "result cells", "result prints", "runs --json"],
    ]) {
      const text = await onTerminal(...line.split(" "));
      expect(text, line).not.toMatch(obeyed);
      shown.push(text);
    }
    for (const args of [
      ["upload", "\u202egnp.csv"],
      ["status", battery],
      ["runs", "--by", battery],
    ])
      expect(await onTerminal(...args), args.join(" ")).not.toMatch(obeyed);
    expect(shown.join("")).toContain("\\u{1b}[2J");
    const last = await new Promise<string>((resolve) => {
      const env = { ...process.env, DataStorage: app.connectionString, XDG_RUNTIME_DIR: join(folder, "run") };
      execFile(process.execPath, [bin, "result", "cells"], { env, cwd: folder }, (_error, out) =>
        resolve(out),
      );
    });
    expect(last, "a pipe gets every byte").toContain("\u001b]52;c;aGk=\u0007\u001b[2J");
  });
});
