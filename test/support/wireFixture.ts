import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { Names } from "../../src/engine/model/names.ts";
import { containersOf, queuesOf } from "../../src/engine/model/names.ts";
import { pagesOf } from "../../src/engine/storage/callSteps.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";

/**
 * What a release wrote, as it stood in storage when all its processes were killed in the middle of a run: `simulated.json` of the
 * simulation, `real.json` of real processes on Azurite. Later builds read and finish it. Written anew by
 * `LEASEFOLD_WRITE_WIRE=1` and the tests that read it, and only before a release: afterwards its files never change.
 */
export interface WireFixture {
  /** When it was taken, in ms since the world began. */
  readonly atMs: number;
  readonly blobs: readonly WireBlob[];
  readonly messages: ReadonlyArray<{ readonly queue: string; readonly text: string }>;
  /** The bytes that the run `half` gives undisturbed. */
  readonly result: string;
}
export interface WireBlob {
  readonly container: string;
  readonly name: string;
  readonly contentType: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly body: string;
}

const folder = join(import.meta.dirname, "../fixtures/wire");
export const writesWire = process.env["LEASEFOLD_WRITE_WIRE"] === "1";
/** The release that this build is of. */
export const thisRelease: string = manifest.version;
export const releases = async (): Promise<readonly string[]> => (await readdir(folder)).sort();

export async function readWire(release: string, kind: "simulated" | "real"): Promise<WireFixture> {
  return JSON.parse(await readFile(join(folder, release, `${kind}.json`), "utf8")) as WireFixture;
}

export async function writeWire(kind: "simulated" | "real", fixture: WireFixture): Promise<void> {
  const file = join(folder, thisRelease, `${kind}.json`);
  await mkdir(dirname(file), { recursive: true });
  const lines = (all: readonly unknown[]) => all.map((one) => `  ${JSON.stringify(one)}`).join(",\n");
  const { atMs, blobs, messages, result } = fixture;
  const parts = [`"blobs": [\n${lines(blobs)}\n]`, `"messages": [\n${lines(messages)}\n]`];
  await writeFile(
    file,
    `{\n"atMs": ${atMs},\n${parts.join(",\n")},\n"result": ${JSON.stringify(result)}\n}\n`,
  );
}

/** Messages come as they would be delivered next; hidden ones too, once they are visible. */
export async function storedIn(
  storage: Storage,
  names: Names,
): Promise<Pick<WireFixture, "blobs" | "messages">> {
  const blobs: WireBlob[] = [];
  for (const container of containersOf(names))
    for await (const page of pagesOf(storage.blobs, container, ""))
      for (const { name } of page.blobs) {
        const found = await storage.blobs.read(container, name);
        if (found.kind === "missing") continue;
        const { contentType, metadata } = found.properties;
        blobs.push({ container, name, contentType, metadata, body: Buffer.from(found.body).toString() });
      }
  const messages: { queue: string; text: string }[] = [];
  for (const queue of queuesOf(names))
    for (const { text } of await storage.queues.peek(queue, 32)) messages.push({ queue, text });
  return { blobs, messages };
}

export async function putStored(
  storage: Storage,
  { blobs, messages }: Pick<WireFixture, "blobs" | "messages">,
): Promise<void> {
  for (const { container, name, body, contentType, metadata } of blobs) {
    const made = await storage.blobs.create(container, name, body, { contentType, metadata });
    if (made.kind !== "created") throw new Error(`${container}/${name} is there already`);
  }
  for (const { queue, text } of messages) await storage.queues.send(queue, text);
}
