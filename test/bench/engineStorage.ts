import { startAzurite } from "../../packages/cli/local/azurite.ts";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { cpuSecondsOf } from "./cpu.ts";

/** CPU time of the emulator for one call of each kind: it serves one at a time, so this bounds every rate. */
export interface EmulatorCost {
  readonly liveBlobs: number;
  /** `message` is put, get and delete of one while 500 others wait. */
  readonly cpuMs: Readonly<Record<"create" | "head" | "listOf100" | "message" | "deleteBlob", number>>;
}

/** What the emulator spends on calls while it holds more and more blobs. */
export async function emulatorCosts(sizes: readonly number[]): Promise<EmulatorCost[]> {
  const azurite = await startAzurite();
  try {
    const { blobs, queues } = connectStorage({ connectionString: azurite.connectionString });
    await blobs.ensureContainer(container);
    await queues.ensureQueue(queue);
    let live = 0;
    const create = () => blobs.create(container, nameOf(live++), "{}", written);
    const cpuMsOf = async (times: number, call: (index: number) => Promise<unknown>): Promise<number> => {
      const before = cpuSecondsOf(azurite.pid);
      for (let index = 0; index < times; index += 1) await call(index);
      return ((cpuSecondsOf(azurite.pid) - before) * 1000) / times;
    };
    const oneMessage = async (): Promise<void> => {
      await queues.send(queue, "{}");
      const [message] = await queues.receive(queue, { max: 1, visibilityS: 600 });
      if (message !== undefined) await queues.remove(queue, message.id, message.popReceipt);
    };
    for (let waiting = 0; waiting < 500; waiting += 1) await queues.send(queue, "{}");

    const costs: EmulatorCost[] = [];
    for (const liveBlobs of sizes) {
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          while (live < liveBlobs) await create();
        }),
      );
      const cpuMs = {
        create: await cpuMsOf(samples, create),
        head: await cpuMsOf(samples, (index) => blobs.head(container, nameOf(index))),
        listOf100: await cpuMsOf(samples / 10, () => blobs.list(container, hundred)),
        message: await cpuMsOf(samples, oneMessage),
        deleteBlob: await cpuMsOf(samples / 4, () => {
          live -= 1;
          return blobs.remove(container, nameOf(live));
        }),
      };
      costs.push({ liveBlobs, cpuMs });
    }
    return costs;
  } finally {
    await azurite.stop();
  }
}

const container = "emulator";
const queue = "emulator";
const samples = 200;
/** Begins the names of the first hundred, as a shard's prefix begins those of its packs. */
const hundred = "parts/000000";
const nameOf = (index: number): string => `parts/${String(index).padStart(8, "0")}`;
/** As a partial is written. */
const written = {
  contentType: "application/octet-stream; ms=812; attempt=1",
  metadata: { inline: "1", data: "e30" },
};
