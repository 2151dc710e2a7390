import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import pi from "../../examples/pi/pi.ts";
import piPython from "../../examples/pi/pi-python.ts";
import { encodeMessage, messageReader } from "../../src/calculations/command/messages.ts";
import { defineCommandCalculation, folderFiles, runSerially, z } from "../../src/calculations/leasefold.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { patienceMs } from "../support/patience.ts";
import { hasPython, stateOf } from "../support/python.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const textOf = ({ body }: { readonly body: Uint8Array }): string => Buffer.from(body).toString();

/** A command whose script is this text. */
async function scripted(name: string, script: string, more: { parts?: "bytes" } = {}) {
  await writeFile(join(folder, `${name}.py`), script);
  const files = [`${name}.py`];
  const common = { summary: "", params: z.object({}), folder, files };
  return defineCommandCalculation({ name, ...common, command: ["python3", `${name}.py`], ...more });
}

test("messages are read whole from any pieces, and what is none is refused with a reason", () => {
  const frames = [Uint8Array.of(10, 0, 255), new Uint8Array(), Uint8Array.of(1)];
  const said = { id: 1, value: ["ü", 0.1] };
  const written = Buffer.concat([encodeMessage(said, frames), encodeMessage({ id: 2 }, [])]);
  for (const size of [1, 2, 7, written.length]) {
    const read = messageReader();
    const messages = [];
    for (let at = 0; at < written.length; at += size) messages.push(...read(written.subarray(at, at + size)));
    expect(messages).toEqual([
      { said: { ...said, bytes: [3, 0, 1] }, frames },
      { said: { id: 2, bytes: [] }, frames: [] },
    ]);
  }
  const refused = ["[1", "7", '{"bytes":[-1]}', '{"bytes":[1e12]}', '{"value":-12345678901234567}', "\xff"];
  for (const line of refused)
    expect(() => [...messageReader()(Buffer.from(`${line}\n`, "latin1"))], line).toThrow(
      /^it (wrote|gave|announced)/,
    );
  const [{ said: big } = { said: {} }] = [
    ...messageReader()(Buffer.from('{"a":1e20,"b":"12345678901234567"}\n')),
  ];
  expect(big).toMatchObject({ a: 1e20, b: "12345678901234567" });
  const endless = messageReader();
  expect(() => {
    for (let mb = 0; mb < 65; mb += 1) for (const _ of endless(Buffer.alloc(1024 * 1024, "x")));
  }).toThrow("larger values are bytes");
});

describe.skipIf(!hasPython)("a command", () => {
  test("in Python gives the bytes of the same calculation in TypeScript", async () => {
    const params = { terms: 420_001 };
    expect(textOf(await runSerially(piPython, params))).toBe(textOf(await runSerially(pi, params)));
  });

  test("whose partials and result are bytes merges them in order", async () => {
    const calculation = await scripted(
      "bytes",
      `import leasefold
leasefold.serve(plan=lambda params, files: 5, compute=lambda chunk: bytes([chunk.index]),
  merge=lambda a, b, params: a + b, zero=lambda params: b"",
  finish=lambda part, context: leasefold.Result(part + bytes([context.folded]), "application/x-five", "five", ["short"]))`,
      { parts: "bytes" },
    );
    expect(await runSerially(calculation, {})).toMatchObject({
      body: Uint8Array.of(0, 1, 2, 3, 4, 5),
      ...{ contentType: "application/x-five", extension: "five", notes: ["short"] },
    });
    await calculation.end?.();
  });

  test("reads files", async () => {
    await writeFile(join(folder, "words.txt"), "words");
    const calculation = await scripted(
      "reads",
      `import leasefold
leasefold.serve(plan=lambda params, files: files.list("leasefold-inputs/words"), merge=lambda a, b, params: a,
  compute=lambda chunk: [chunk.files.read(chunk.input).decode(), chunk.files.read(chunk.input, 1, 3).decode()],
  zero=lambda params: 0)`,
    );
    expect(JSON.parse(textOf(await runSerially(calculation, {}, folderFiles(folder))))).toEqual([
      "words",
      "or",
    ]);
  });

  test.each([
    ["no-program", ["leasefold-is-no-program"], /it did not start: spawn leasefold-is-no-program ENOENT/],
    ["no-greeting", ["echo", "{}"], /it does not greet as version 1/],
    ["silence", ["true"], /it ended with code 0/],
  ] as const)("of %s fails with a reason", async (name, line, words) => {
    const given = { name, summary: "", params: z.object({}), folder, files: [] };
    await expect(runSerially(defineCommandCalculation({ ...given, command: line }), {})).rejects.toThrow(
      words,
    );
  });

  test("whose script is another one is another version, and does not run as the one that was loaded", async () => {
    for (const name of ["pi-python.ts", "pi.py"])
      await cp(join(import.meta.dirname, "../../examples/pi", name), join(folder, name));
    const file = join(folder, "pi-python.ts");
    const known = await loadCalculations([file]);
    const version = known.versionOf("pi-python");
    expect(version).toMatch(/@sha256:/);
    expect(known.changedSince?.("pi-python")).toBe(false);
    await writeFile(join(folder, "pi.py"), "print('another')");
    expect(known.changedSince?.("pi-python")).toBe(true);
    expect(known.versionOf("pi-python")).toBe(version);
    await expect(runSerially(known.get("pi-python"), { terms: 1 })).rejects.toThrow(
      "pi.py has changed since",
    );
    const again = join(folder, "again.ts");
    await cp(file, again);
    const other = (await loadCalculations([again])).versionOf("pi-python");
    expect(other).not.toBe(version);
  });

  test("ends when the process that started it is killed, also while it computes", async () => {
    const script = join(folder, "kills.mjs");
    const url = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href);
    await writeFile(
      join(folder, "spins.py"),
      `import leasefold, os
def compute(chunk):
    print(os.getpid())
    while True: pass
leasefold.serve(plan=lambda params, files: 1, compute=compute, merge=lambda a, b, params: a, zero=lambda params: 0)`,
    );
    await writeFile(
      script,
      `const { defineCommandCalculation, runSerially, z } = await import(${url("../../src/calculations/leasefold.ts")});
       await runSerially(defineCommandCalculation({ name: "spins", summary: "", params: z.object({}),
         command: ["python3", "spins.py"], folder: import.meta.dirname, files: ["spins.py"] }), {});`,
    );
    const node = spawn(process.execPath, [script], { stdio: ["ignore", "inherit", "pipe"] });
    const [said] = await Promise.race([once(node.stderr, "data"), once(node, "exit")]);
    const pid = Number(said);
    expect(stateOf(pid)).toMatch(/^[RS]/);
    node.kill("SIGKILL");
    await vi.waitFor(() => expect(stateOf(pid)).toMatch(/^(Z.*)?$/), { timeout: patienceMs });
  });
});
