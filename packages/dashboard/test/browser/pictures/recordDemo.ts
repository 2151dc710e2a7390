import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { filmSvg } from "./filmSvg.ts";
import { type Frame, framesOf, thinned, type Written } from "./terminalFrames.ts";
import { terminalSvg } from "./terminalSvg.ts";

const root = join(import.meta.dirname, "../../../../..");
const [columns, rows] = [88, 24];
/** A recording lasts about so long, whatever the machine; the last picture stays for a while. */
const [filmMs, lastMs] = [16_000, 5_000];
const view = { width: 1000, height: 620 };

interface Shot {
  readonly atMs: number;
  readonly image: Buffer;
}

/**
 * Runs `leasefold demo` and writes two films of it: `demo.svg`, its terminal, and `takeover.svg`, the dashboard before the kill,
 * while nobody leads, after the takeover, and at the end. Throws where the demo fails or no leader was replaced.
 */
export async function recordDemo(browser: Browser, folder: string, args: readonly string[]): Promise<void> {
  const own = await mkdtemp(join(tmpdir(), "leasefold-film-"));
  // The program believes that the pipe is a terminal.
  const terminal = `Object.assign(process.stdout, { isTTY: true, columns: ${columns}, rows: ${rows} })`;
  const demo = spawn(
    process.execPath,
    [
      ...["--import", `data:text/javascript,${encodeURIComponent(terminal)}`],
      ...[join(root, "bin/leasefold.js"), "demo", ...args],
    ],
    {
      ...{ cwd: own, stdio: ["ignore", "pipe", "inherit"] },
      env: { ...process.env, TERM: "xterm-256color", FORCE_COLOR: "1", NO_COLOR: undefined },
    },
  );
  const startMs = performance.now();
  const written: Written[] = [];
  const address = new Promise<string>((resolve) => {
    demo.stdout.setEncoding("utf8").on("data", (text: string) => {
      written.push({ atMs: performance.now() - startMs, text });
      const found = /http:\/\/127\.0\.0\.1:\S+#token=[\w-]+/.exec(text)?.[0];
      if (found !== undefined) resolve(found);
    });
  });
  const ended = new Promise<number | null>((resolve) => void demo.once("close", resolve));
  const page = await browser.newPage({ viewport: view, reducedMotion: "reduce" });
  const shots = await shotsOf(page, await Promise.race([address, ended.then(() => "")]), ended, startMs);
  if ((await ended) !== 0) throw new Error("the demo failed");
  await rm(own, { recursive: true, force: true });

  const frames = framesOf(written);
  const timeOf = (event: RegExp): number => {
    const frame = frames.find(({ lines }) => lines.some((line) => event.test(line)));
    if (frame === undefined) throw new Error(`the demo never showed ${event.source}`);
    return frame.atMs;
  };
  const [killedMs, overMs] = [timeOf(/SIGKILL/), timeOf(/took over in term/)];
  await writeFile(join(folder, "demo.svg"), demoFilm(frames));
  await writeFile(
    join(folder, "demo-still.svg"),
    terminalSvg(screens(frames.slice(-1)), title, columns, () => lastMs),
  );
  const chosen = [
    shots.findLast(({ atMs }) => atMs < killedMs),
    shots.findLast(({ atMs }) => atMs < overMs),
    shots.find(({ atMs }) => atMs > overMs + 1_500),
    shots.at(-1),
  ].filter((shot) => shot !== undefined);
  await writeFile(join(folder, "takeover.svg"), await takeoverFilm(page, chosen));
  await page.close();
}

/** Pictures of the run's page, one after the other, until the demo has ended. */
async function shotsOf(
  page: Page,
  address: string,
  ended: Promise<unknown>,
  startMs: number,
): Promise<Shot[]> {
  const shots: Shot[] = [];
  let isOver = address === "";
  void ended.then(() => {
    isOver = true;
  });
  if (!isOver) {
    await page.goto(address);
    await page.locator("a[href*='#/runs/']").first().click();
  }
  while (!isOver) {
    const atMs = performance.now() - startMs;
    const image = await page.screenshot({ timeout: 5_000 }).catch(() => undefined);
    if (image !== undefined && !isOver) shots.push({ atMs, image });
    await sleep(300);
  }
  return shots;
}

const title =
  "Three instances count primes, their leader is killed, another takes over, and the answer is right";

/** What of the frames the terminal shows. */
const screens = (frames: readonly Frame[]): readonly Frame[] =>
  frames.map(({ atMs, lines }) => ({ atMs, lines: lines.slice(-rows) }));

/** The recording in less time; where nothing changes for long it is cut. */
function demoFilm(all: readonly Frame[]): string {
  const frames = thinned(screens(all), (all.at(-1)?.atMs ?? 0) / 60);
  const realMs = frames.map(({ atMs }, index) => Math.min((frames[index + 1]?.atMs ?? atMs) - atMs, 3_000));
  const sumMs = realMs.reduce((sum, ms) => sum + ms, 0);
  return terminalSvg(frames, title, columns, (index) =>
    index === frames.length - 1 ? lastMs : Math.round(((realMs[index] ?? 0) * filmMs) / sumMs),
  );
}

async function takeoverFilm(page: Page, shots: readonly Shot[]): Promise<string> {
  // The policy of the dashboard's page allows no data of other places.
  await page.goto("about:blank");
  const pictures = await Promise.all(
    shots.map(async ({ image }) => {
      const webp = await page.evaluate(asWebp, image.toString("base64"));
      return { ms: 3_000, markup: `<image width="${view.width}" height="${view.height}" href="${webp}"/>` };
    }),
  );
  const dashboard =
    "A run before its leader is killed, while nobody leads, after the takeover, and at its end";
  return filmSvg({ ...view, title: dashboard, style: "", pictures });
}

/** Runs in the page, which has the codec. */
async function asWebp(png: string): Promise<string> {
  const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  return canvas.toDataURL("image/webp", 0.82);
}
