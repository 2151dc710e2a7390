import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemReason } from "../options.ts";
import { printBytes, saveBytes } from "../saveBytes.ts";
import { printed } from "./cliWorld.ts";

const isWindows = process.platform === "win32";
const source = (file: string): string => JSON.stringify(join(import.meta.dirname, "..", file));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a program whose files may not grow beyond 100 KiB. */
async function runLimited(
  program: string,
  redirect = "",
): Promise<{ code: number; stdout: string; stderr: string }> {
  const file = join(folder, "program.mjs");
  await writeFile(file, program);
  const line = `ulimit -f 100; exec "$0" "$1" ${redirect}`;
  return await promisify(execFile)("bash", ["-c", line, process.execPath, file], {
    cwd: folder,
    env: { ...process.env, NODE_COMPILE_CACHE: "", NODE_DISABLE_COMPILE_CACHE: "1" },
  }).then(
    (ended) => ({ code: 0, ...ended }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

async function* bodyOf(...pieces: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield typeof piece === "string" ? Buffer.from(piece) : piece;
}

describe("a file of -o", () => {
  it.skipIf(isWindows)(
    "A write that stops short fails in words, and the file keeps what it had",
    async () => {
      await writeFile(join(folder, "out.bin"), "old");
      const { stdout } = await runLimited(`
      const { saveBytes } = await import(${source("saveBytes.ts")});
      async function* body() { yield Buffer.alloc(131072); }
      const ended = await saveBytes({ folder: ${JSON.stringify(folder)} }, "out.bin", async () => body()).then(
        () => "saved", ({ name, message }) => name + ": " + message);
      console.log(ended);`);
      expect(stdout).toBe("InputError: cannot write out.bin: file too large (EFBIG)\n");
      expect(await readFile(join(folder, "out.bin"), "utf8")).toBe("old");
      expect((await readdir(folder)).sort()).toEqual(["out.bin", "program.mjs"]);
    },
  );

  it.skipIf(isWindows)(
    "A new file is its owner's alone, and one that is replaced stays as open as it was",
    async () => {
      const path = await saveBytes({ folder }, "new", async () => bodyOf("1"));
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      await chmod(path, 0o640);
      await saveBytes({ folder }, "new", async () => bodyOf("2"));
      expect((await stat(path)).mode & 0o777).toBe(0o640);
    },
  );

  it("A body that ends with an error leaves the file as it was, and the error as it is", async () => {
    await writeFile(join(folder, "out.bin"), "old");
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("new");
      throw new RangeError("not what its manifest says");
    }
    await expect(saveBytes({ folder }, "out.bin", async () => broken())).rejects.toThrow(RangeError);
    expect(await readFile(join(folder, "out.bin"), "utf8")).toBe("old");
    expect(await readdir(folder)).toEqual(["out.bin"]);
  });

  it("A folder and a device are refused before the body is opened", async () => {
    await mkdir(join(folder, "inner"));
    const never = async () => Promise.reject(new Error("opened"));
    await expect(saveBytes({ folder }, "inner", never)).rejects.toThrow("cannot write inner: it is a folder");
    if (isWindows) return;
    await symlink("/dev/null", join(folder, "null"));
    const device = "cannot write null: it is no regular file";
    await expect(saveBytes({ folder }, "null", never)).rejects.toThrow(device);
  });

  it("The reason is in the words of the system, with its code", () => {
    const reasonOf = (code: string, errno: number) =>
      systemReason(Object.assign(new Error("x"), { code, errno }));
    if (isWindows) return;
    expect([reasonOf("ENOSPC", -28), reasonOf("EACCES", -13), reasonOf("EISDIR", -21)]).toEqual([
      "no space left on device (ENOSPC)",
      "permission denied (EACCES)",
      "illegal operation on a directory (EISDIR)",
    ]);
    expect(systemReason(new Error("it just failed"))).toBe("it just failed");
  });
});

describe("standard output", () => {
  const program = (text: string): string => `
    const { screenOf } = await import(${source("render/processScreen.ts")});
    await screenOf(process.stdout, {}).write(${text});
    await screenOf(process.stderr, {}).write("written");`;

  it.skipIf(isWindows)(
    "A write to a file that stops short ends the command with 2 and the reason",
    async () => {
      expect(await runLimited(program("Buffer.alloc(131072)"), "> out.bin")).toMatchObject({
        code: 2,
        stderr: "leasefold: cannot write standard output: file too large (EFBIG)\n",
      });
    },
  );

  it.skipIf(process.platform !== "linux")(
    "A full device ends the command with 2 and the reason",
    async () => {
      expect(await runLimited(program('"text"'), "> /dev/full")).toMatchObject({
        code: 2,
        stderr: "leasefold: cannot write standard output: no space left on device (ENOSPC)\n",
      });
    },
  );

  it.skipIf(isWindows)("A reader that has closed the pipe is no error", async () => {
    const text = 'await new Promise((done) => setTimeout(done, 200)) ?? "text"';
    expect(await runLimited(program(text), '| true; exit "${PIPESTATUS[0]}"')).toMatchObject({
      code: 0,
      stderr: "",
    });
  });

  it.each([
    ["an image", Buffer.from("89504e470d0a1a0a", "hex")],
    ["a zero byte", "text\0text"],
  ])("%s is refused on a terminal, and printed to a pipe", async (_what, bytes) => {
    const terminal = printed({ tty: true });
    await expect(printBytes({ out: terminal }, bodyOf(bytes))).rejects.toThrow(
      "binary output is not written to a terminal: write it to a file (-o FILE) or to a pipe",
    );
    expect(terminal.text()).toBe("");
    const pipe = printed();
    await printBytes({ out: pipe }, bodyOf(bytes));
    expect(pipe.text()).toBe(Buffer.from(bytes).toString());
  });

  it("Text is printed on a terminal, also where a character is cut between two pieces", async () => {
    const terminal = printed({ tty: true });
    const euro = Buffer.from("€");
    await printBytes({ out: terminal }, bodyOf("1", euro.subarray(0, 1), euro.subarray(1)));
    expect(terminal.text()).toMatch(/^1.*\n$/);
  });
});
