import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { engineWorld, simNames } from "../../support/engineWorld.ts";

/** The waits of README and of the table in ARCHITECTURE, in virtual time, with the pauses of the app and a leader in full swing. */

const root = resolve(import.meta.dirname, "../../..");
const read = (page: string): string => readFileSync(resolve(root, page), "utf8").replaceAll(/\s+/g, " ");
const shortMsMax = 15_000;

/** What README says, in ms: for packs of up to 15 s, and for longer ones. */
const told = ((): readonly [number, number] => {
  const found = /resent within (\d+) s of its death, or within (\d+) s if packs take longer than 15 s/.exec(
    read("README.md"),
  );
  return [Number(found?.[1]) * 1_000, Number(found?.[2]) * 1_000];
})();

interface Sent {
  readonly kind: string;
  readonly from: number;
  readonly send: number;
}

/**
 * From the kill of one of five busy workers until each pack that it had is resent, in ms. Messages arrive in another order
 * than that of their packs, so a wait begins once all packs before it were taken.
 */
async function resentAfterMs(packMs: number, killAtMs: number): Promise<number[]> {
  const held = new Map<number, string>();
  const takenMs = new Map<number, number>();
  const engine = engineWorld({
    seed: 4,
    code: { chunkMs: () => packMs },
    async handling({ text }, work, instance) {
      const { kind, from } = JSON.parse(text) as Sent;
      if (kind === "compute") {
        held.set(from, instance);
        if (!takenMs.has(from)) takenMs.set(from, engine.world.nowMs());
      }
      await work();
      held.delete(from);
    },
  });
  engine.start({ works: false });
  for (let count = 0; count < 5; count += 1) engine.start({ leads: false });
  const resent = new Map<number, number>();
  const { queues } = engine.storage;
  const send = queues.send.bind(queues);
  queues.send = (queue, text, options) => {
    const { kind, from, send: number } = JSON.parse(text) as Sent;
    if (kind === "compute" && number > 1 && !resent.has(from)) resent.set(from, engine.world.nowMs());
    return send(queue, text, options);
  };
  await engine.submit({ id: "r", chunks: 120, packSize: 1 });
  await engine.world.advance(killAtMs);
  const killedMs = engine.world.nowMs();
  engine.instances[1]?.kill();
  const lost = [...held].filter(([, instance]) => instance === engine.instances[1]?.name);
  // The dead process may have written a partial and not come to the end of its delivery.
  await engine.world.advance(1_000);
  const first = engine.storage.operator.blobNames(simNames.runs).filter((name) => name.includes("/parts/"));
  await engine.world.advance(60_000);
  const done = new Set(first.map((name) => Number(name.slice(name.lastIndexOf("/") + 1))));
  return lost
    .filter(([from]) => resent.has(from) || !done.has(from))
    .map(([from]) => {
      const before = [...takenMs].flatMap(([pack, atMs]) => (pack < from ? atMs : []));
      return (resent.get(from) ?? Number.POSITIVE_INFINITY) - Math.max(killedMs, ...before);
    });
}

test.each([3_500, shortMsMax, 60_000])(
  "a pack of %i ms whose worker dies is resent within the time that README names, whenever that is",
  async (packMs) => {
    const boundMs = told[packMs <= shortMsMax ? 0 : 1];
    const all: number[] = [];
    // Moments of one pack and of one poll of the heartbeats, after the first packs.
    for (let moment = 0; moment < 9; moment += 1)
      all.push(...(await resentAfterMs(packMs, 22_000 + 2.8 * packMs + moment * 750)));
    expect(all.length).toBeGreaterThan(12);
    expect(Math.max(...all)).toBeLessThanOrEqual(boundMs);
    if (packMs !== shortMsMax) expect(Math.max(...all)).toBeGreaterThan(0.8 * boundMs);
  },
);

test("the table of waits says the same as README", () => {
  const [short, long] = told.map((ms) => ms / 1_000);
  expect(read("docs/ARCHITECTURE.md")).toContain(
    `| ${short} s where packs take up to 15 s, else ${long} s |`,
  );
});
