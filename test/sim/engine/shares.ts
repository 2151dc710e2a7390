import type { Storage } from "../../../src/engine/storage/ports.ts";
import { engineWorld } from "../../support/engineWorld.ts";

/**
 * How evenly runs beside one another have the workers, in the simulation: sixteen threads of eight instances. Packs take half to
 * one and a half times of what is said.
 */

/** Jain's index: 1 where all are equal. */
export const jainOf = (all: readonly number[]): number =>
  all.reduce((a, b) => a + b, 0) ** 2 / (all.length * all.reduce((a, b) => a + b * b, 0));

const chunkMs = 100;
const packSizeOf = (packMs: number): number => Math.max(1, packMs / chunkMs);

function sharedWorld(packMs: number, seed: number) {
  const done = new Map<string, number[]>();
  const watched = (storage: Storage, world: { nowMs(): number }): Storage => ({
    ...storage,
    blobs: {
      ...storage.blobs,
      async create(container, name, ...rest) {
        const reply = await storage.blobs.create(container, name, ...rest);
        const [id = "", , place] = name.split("/");
        if (place === "parts" && reply.kind === "created") done.set(id, [...doneBy(id), world.nowMs()]);
        return reply;
      },
    },
  });
  /** When each of its packs was written. */
  const doneBy = (id: string): readonly number[] => done.get(id) ?? [];
  const unevenMs = (chunk: number): number =>
    chunkMs * (0.5 + ((Math.floor(chunk / packSizeOf(packMs)) * 0.618) % 1));
  const engine = engineWorld({ seed, watched, code: { chunkMs: unevenMs } });
  for (let count = 0; count < 8; count += 1) engine.start();
  return { engine, doneBy };
}

/**
 * Jain's index of the packs of three equal runs that are submitted 4 s apart, in four windows. The first begins 30 s after the
 * first submit and ends half a minute or two packs later. A pack counts where it began, so it is done a pack's time later.
 */
export async function threeRuns(
  packMs: number,
  seed = 1,
  priorities: readonly ("high" | "normal" | "low")[] = ["normal", "normal", "normal"],
) {
  const { engine, doneBy } = sharedWorld(packMs, seed);
  const packSize = packSizeOf(packMs);
  await engine.world.advance(3_000);
  const fromMs = engine.world.nowMs() + 30_000 + packMs;
  for (const [at, priority] of priorities.entries()) {
    await engine.submit({ id: `run-${at}`, chunks: 5_000 * packSize, packSize, priority });
    await engine.world.advance(4_000);
  }
  const windowMs = Math.max(30_000, 2 * packMs);
  await engine.world.advance(fromMs + 4 * windowMs - engine.world.nowMs());
  return [0, 1, 2, 3].map((window) => {
    const begin = fromMs + window * windowMs;
    return priorities.map(
      (_, at) => doneBy(`run-${at}`).filter((ms) => ms >= begin && ms < begin + windowMs).length,
    );
  });
}

/** Time of a run of ten packs beside two large ones over its time alone; `packMs` is that of the packs of the large ones. */
export async function smallRun(packMs: number, smallPackMs: number, seed = 1): Promise<number> {
  const timeOf = async (beside: boolean): Promise<number> => {
    const { engine } = sharedWorld(packMs, seed);
    const packSize = packSizeOf(packMs);
    await engine.world.advance(3_000);
    if (beside) {
      for (const id of ["one", "two"]) {
        await engine.submit({ id, chunks: 5_000 * packSize, packSize });
        await engine.world.advance(4_000);
      }
      await engine.world.advance(60_000);
    } else {
      await engine.submit({ id: "before", chunks: 8, packSize: 1 });
      await engine.untilEnd("before");
    }
    const fromMs = engine.world.nowMs();
    const size = packSizeOf(smallPackMs);
    await engine.submit({ id: "small", chunks: 10 * size, packSize: size });
    await engine.untilEnd("small");
    return engine.world.nowMs() - fromMs;
  };
  const aloneMs = await timeOf(false);
  return (await timeOf(true)) / aloneMs;
}
