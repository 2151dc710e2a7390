import { Writable } from "node:stream";
import { describe, expect, it, test } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { heartbeatWork, putHeartbeat } from "../../../test/support/heartbeatProcess.ts";
import { screenOf } from "../render/processScreen.ts";
import { visible } from "../render/terminal.ts";
import { paint } from "../render/text.ts";
import { cliWorld } from "./cliWorld.ts";

/** Sets the clipboard, forges a line, hides what follows, and does it again in 8-bit controls. */
const clipboard = "\u001b]52;c;cm0gLXJmIH4=\u0007";
const forgedLine = "\r\u001b[2K\u001b[1Anode-9 leads (term 99)";
const eightBit = "\u009b2J\u009d52;c;eA==\u009c";
const hidden = "\u001b[8mhidden\u202etxet";
const hostile = clipboard + forgedLine + eightBit + hidden;

/** A terminal, or a pipe, and every byte that it got. */
function stream(isTTY: boolean) {
  const got: Buffer[] = [];
  const made = new Writable({
    // As a terminal's own stream.
    decodeStrings: false,
    write(piece: Buffer | string, encoding, done) {
      got.push(typeof piece === "string" ? Buffer.from(piece, encoding) : piece);
      done();
    },
  });
  const target = Object.assign(made, { isTTY, columns: 200, fd: 1 }) as unknown as NodeJS.WriteStream & {
    fd: 1;
  };
  return { target, text: () => Buffer.concat(got).toString("utf8") };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may reach a terminal.
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

describe("a terminal", () => {
  it("shows control characters of text, of bytes and of what user code prints, and obeys none", async () => {
    const { target, text } = stream(true);
    const screen = screenOf(target, { NO_COLOR: "1" });
    await screen.write(`${hostile}\n`);
    await screen.write(Buffer.from(`${hostile}\n`));
    // As console.error of user code and of its threads does.
    target.write(`${hostile}\n`);
    expect(text()).not.toMatch(controls);
    expect(text()).toContain("\\u{1b}]52;c;cm0gLXJmIH4=\\u{7}");
    expect(text()).toContain("\\u{9b}2J\\u{9d}52;c;eA==\\u{9c}");
  });

  it("shows characters that are not seen, and leaves those of words and emoji", () => {
    for (const code of [
      0xad, 0x200b, 0x2028, 0x2029, 0x2060, 0x3164, 0xfeff, 0xfff9, 0xfffb, 0xe0001, 0xe0041,
    ])
      expect(visible(`a${String.fromCodePoint(code)}b`)).toBe(`a\\u{${code.toString(16)}}b`);
    const words = "na\u00efve \u0645\u06cc\u200c\u062e \u{1f469}\u200d\u{1f4bb} \u2601\ufe0f";
    expect(visible(words)).toBe(words);
  });

  it("keeps newlines, tabs, and colors of our own", async () => {
    const { target, text } = stream(true);
    const screen = screenOf(target, {});
    const line = `${paint(screen, "red", "failed")}\t${paint(screen, "bold", "x")}\r\n`;
    await screen.write(line);
    expect(text()).toBe(line);
    expect(visible("\u001b[31m", { styles: false })).toBe("\\u{1b}[31m");
  });

  it("shows colors of a result, which are none of ours, and text in any encoding", async () => {
    const { target, text } = stream(true);
    const screen = screenOf(target, {});
    await screen.write(Buffer.from("\u001b[31ma,b"));
    target.write("1b5b326d", "hex");
    target.write("\u009b2J", "latin1");
    expect(text()).toBe("\\u{1b}[31ma,b\\u{1b}[2m\ufffd2J");
  });

  it("is guarded for whoever kept `write` before, for several pieces at once, and below our own drawing", async () => {
    const { target, text } = stream(true);
    const kept = target.write;
    const screen = screenOf(target, { NO_COLOR: "1" });
    target.cork();
    kept.call(target, hostile);
    kept.call(target, hostile);
    target.uncork();
    expect(text()).not.toMatch(controls);
    screen.draw("\u001b[2K");
    expect(text().endsWith("\u001b[2K")).toBe(true);
  });
});

it("a pipe and a file get every byte", async () => {
  const { target, text } = stream(false);
  const screen = screenOf(target, {});
  await screen.write(hostile);
  await screen.write(Buffer.from(hostile));
  expect(text()).toBe(hostile + hostile);
});

test("a result and the names of a calculation, a holder and an instance reach a terminal without control characters", async () => {
  const { target, text } = stream(true);
  const world = await cliWorld({ out: screenOf(target, { NO_COLOR: "1" }) });
  const run = await submit(world.client, { calculation: "sum", params: { to: 100 }, id: "r1" });
  await world.putState(run, {
    phase: "computing",
    code: hostile,
    terms: [{ term: 1, holder: hostile, atMs: 0 }],
  });
  await putHeartbeat(world.client, hostile, { ended: hostile, works: [heartbeatWork(1)] });
  for (const line of ["runs", "status r1", "status r1 --json", "workers", "workers --json"])
    await world.run(line);
  await world.putState(run, { phase: "complete" });
  await world.putResult(run, `a,${hostile}\n`, { contentType: "text/csv" });
  expect(await world.run("result r1")).toMatchObject({ exitCode: 0 });
  expect(text()).toContain("a,\\u{1b}]52;");
  expect(text()).toContain(" pack 1, chunks 10–19");
  expect(text()).not.toMatch(controls);
});
