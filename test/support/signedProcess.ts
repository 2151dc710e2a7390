import type { Client } from "../../src/engine/client/client.ts";
import { signBlob, signBlobs } from "../../src/engine/model/names.ts";
import { encodeSign, type Sign } from "../../src/engine/model/sign.ts";
import type { SignedProcess } from "../../src/engine/worker/signs.ts";

/** What the sign of a test's process says of it. */
export const signedProcess = (instance = "one", threads = 2): SignedProcess => ({
  ...{ instance, threads, version: "1.2.3", codes: [] },
  memoryMb: () => 100,
});

/** A piece of work of a sign: a pack of ten chunks that a thread began two seconds before the sign was written. */
export const signedWork = (
  pack: number,
  more: Partial<Sign["works"][number]> = {},
): Sign["works"][number] => ({
  ...{ run: "r1", uid: "u1", work: { kind: "pack", shard: 0, pack }, generation: 1, send: 1 },
  ...{ ageMs: 2_000, begun: true, alone: false, chunks: { from: pack * 10, to: pack * 10 + 10 }, ...more },
});

/** Writes the sign of a process, as it or its supervisor would. */
export async function putSign(
  { storage: { blobs }, names }: Pick<Client, "storage" | "names">,
  name: string,
  sign: Partial<Sign> = {},
): Promise<void> {
  const plain = { ...{ threads: 2, everyMs: 2_000, version: "1.2.3", codes: [], memoryMb: 100 }, works: [] };
  const metadata = encodeSign({ ...plain, ...sign });
  const blob = name.includes(".") ? `${signBlobs}${name}` : signBlob(name, "a1b2c3d4");
  await blobs.create(names.coordination, blob, "", { metadata });
}
