import { runBlobs, specBlob } from "../../../src/engine/model/runBlobs.ts";
import type { MemoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import type { Random } from "../../../src/engine/storage/ports.ts";
import { simNames as names } from "../../support/engineWorld.ts";
import type { RunRecord } from "./checks/ledger.ts";
import { clearQueue } from "./hostile.ts";
import type { Company } from "./mishaps.ts";
import type { Stage } from "./stage.ts";

/** What storage loses, or somebody with a storage browser makes it lose. The ledger is told; no checker judges it. */

/** What an operator may delete of a run. */
const belongings = ["marker", "spec", "plan", "state", "partial", "node"] as const;
type Belonging = (typeof belongings)[number];

/** A blob of a run is deleted by hand. */
export function loseBlob(
  { engine, judge }: Pick<Stage, "engine" | "judge">,
  run: RunRecord | undefined,
  container: string,
  name: string,
): void {
  if (run !== undefined) run.lostByHand = true;
  engine.storage.operator.deleteBlob(container, name);
  judge.ledger.apply({ kind: "removed", container, name });
}

/** Deletes this of the run, one of them where there are several. False where there is none. */
export function deleteByHand(
  stage: Stage,
  run: RunRecord,
  what: Belonging,
  draw = () => stage.world.random.number(),
): boolean {
  const [container, fits] = homeOf(run, what);
  const there = stage.engine.storage.operator.blobNames(container).filter(fits);
  const name = there[Math.floor(draw() * there.length)];
  if (name === undefined) return false;
  stage.world.tell("operator", `deletes the ${what}`, { [container]: name });
  loseBlob(stage, run, container, name);
  return true;
}

function homeOf({ id, uid }: RunRecord, what: Belonging): readonly [string, (name: string) => boolean] {
  const under = (part: RegExp) => (name: string) =>
    name.startsWith(`${id}/${uid}/`) && part.test(name.slice(`${id}/${uid}/`.length));
  if (what === "marker") return [names.active, (name) => name === id];
  if (what === "spec") return [names.runs, (name) => name === specBlob(id)];
  if (what === "plan") return [names.runs, under(/^plan\.json$/)];
  if (what === "state") return [names.runs, (name) => name === runBlobs(id, uid).state];
  return [names.runs, under(what === "partial" ? /^parts\// : /^nodes\//)];
}

/** Puts back a spec that was deleted by hand. */
export async function putSpecBack({ engine, judge, world }: Stage, run: RunRecord): Promise<void> {
  const { id, spec } = run;
  if (run.specThere || spec === undefined || run.deleteAskedMs !== undefined) return;
  if (judge.ledger.current(id, "spec") !== undefined) return;
  const body = JSON.stringify(spec);
  const write = { contentType: "application/json" };
  const reply = await engine.storage.blobs.create(names.runs, specBlob(id), body, write);
  if (reply.kind !== "created") return;
  world.tell("operator", "puts the spec back", { id });
  const { etag } = reply;
  const written = { container: names.runs, name: specBlob(id), body, metadata: {}, contentType: "", etag };
  judge.ledger.apply({ kind: "created", ...written });
}

/** Everything below a run's folder as it is now; what is given puts it back, as a restore of the container to a point in time. */
async function snapshotOf(stage: Stage, { id, uid }: RunRecord): Promise<() => Promise<void>> {
  const { engine, judge, world } = stage;
  const { blobs, operator } = engine.storage;
  const mine = () => operator.blobNames(names.runs).filter((name) => name.startsWith(`${id}/${uid}/`));
  const kept = new Map<string, Extract<Awaited<ReturnType<typeof blobs.read>>, { kind: "found" }>>();
  for (const name of mine()) {
    const found = await blobs.read(names.runs, name);
    if (found.kind === "found") kept.set(name, found);
  }
  return async () => {
    const run = judge.ledger.runs.get(uid);
    // Nobody leads a run without a marker.
    if (run?.marker === undefined || !run.specThere || run.deleteAskedMs !== undefined) return;
    run.lostByHand = true;
    world.tell("operator", "rolls the run's folder back", { id });
    for (const name of mine()) {
      if (kept.has(name)) continue;
      operator.deleteBlob(names.runs, name);
      judge.ledger.apply({ kind: "removed", container: names.runs, name });
    }
    for (const [name, { body, properties }] of kept) {
      const now = await blobs.read(names.runs, name);
      if (now.kind === "found" && Buffer.compare(now.body, body) === 0) continue;
      const { contentType, metadata } = properties;
      if (now.kind === "found") operator.overwriteBlob(names.runs, name, body);
      else await blobs.create(names.runs, name, body, { contentType, metadata });
      const back = await blobs.head(names.runs, name);
      const etag = back.kind === "found" ? back.properties.etag : "";
      const written = { container: names.runs, name, body, metadata, contentType, etag };
      judge.ledger.apply({ kind: "replaced", ...written });
    }
  };
}

/** Some of the messages that can be seen are gone, or the whole queue is. */
export async function loseMessages(storage: MemoryStorage, { number }: Random): Promise<void> {
  const queue = number() < 0.5 ? names.packs : names.urgent;
  const kind = number();
  if (kind < 0.3) return clearQueue(storage, queue);
  // Whoever sends next creates it.
  if (kind < 0.4) return storage.operator.deleteQueue(queue);
  for (const one of await storage.queues.receive(queue, { max: 32, visibilityS: 1 })) {
    if (number() < 0.5) await storage.queues.remove(queue, one.id, one.popReceipt);
  }
}

/** Somebody deletes one thing of a run that is at work, and may put the spec back a little later. */
export function operate({ play }: Company): void {
  const { random } = play.world;
  const runs = [...play.judge.ledger.runs.values()].filter(
    (run) => run.specThere && run.deleteAskedMs === undefined && run.marker !== undefined,
  );
  const run = runs[Math.floor(random.number() * runs.length)];
  const what = belongings[Math.floor(random.number() * belongings.length)];
  if (run === undefined || what === undefined || !deleteByHand(play, run, what)) return;
  if (what === "spec")
    play.engine.client.clock.after(random.number() * 90_000, () => void putSpecBack(play, run));
}

/** The folder of a run is rolled back by some seconds. */
export async function rollBack({ play }: Company): Promise<void> {
  const { random } = play.world;
  const runs = [...play.judge.ledger.runs.values()].filter(
    (run) => run.specThere && run.marker !== undefined,
  );
  const run = runs[Math.floor(random.number() * runs.length)];
  if (run === undefined) return;
  const restore = await snapshotOf(play, run);
  play.engine.client.clock.after(random.number() * 30_000, () => void restore());
}
