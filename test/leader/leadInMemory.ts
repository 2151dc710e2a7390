import { coordinate, newTerm } from "../../src/engine/leader/coordinate.ts";
import type { CoordinatorPorts, Leader } from "../../src/engine/leader/term.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { decodeMarker, encodeMarker, type Marker } from "../../src/engine/model/marker.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import type { Plan, Spec } from "../../src/engine/model/run.ts";
import { runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { type MemoryStorage, memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { planIn, planOf, specIn } from "../support/runFixtures.ts";
import { virtualWorld } from "../support/virtualClock.ts";

/** A leader alone on in-memory storage, whose workers are the test: it counts what each of its loops cost. */
export function leadInMemory() {
  const world = virtualWorld();
  const clock = world.clock();
  const storage: MemoryStorage = memoryStorage({ clock, random: world.random });
  const names = namesOf("t");
  let end = new AbortController();
  let sequence = 0;
  const log: LogEvent[] = [];
  const ports: CoordinatorPorts = {
    ...{ storage, names, clock, packLimitMs: 300_000, told: new Set() },
    log: (event) => void log.push(event),
    nextSequence: () => ++sequence,
  };
  const leader: Leader = {
    ...{ term: 7, termid: "seven", holder: "node-1", signal: end.signal, lost: new AbortController().signal },
    assertLeading() {},
    progress() {},
    note() {},
  };
  const ready = (async () => {
    for (const one of [names.coordination, names.active, names.runs, names.results])
      await storage.blobs.ensureContainer(one);
    for (const one of [names.packs, names.urgent, names.wake]) await storage.queues.ensureQueue(one);
  })();

  return {
    ...{ world, storage, names, ports, leader, ready, log },
    /** Ends the term as planned. */
    end: () => end.abort(),
    /** Another term of the same process follows. */
    nextTerm(): void {
      end = new AbortController();
      const term = leader.term + 1;
      Object.assign(leader, { term, termid: `term ${term}`, signal: end.signal });
    },
    /** Adds a run whose plan is there. */
    async addRun(
      id: string,
      plan: Plan = planOf(100),
      change: { marker?: Partial<Marker>; state?: State; spec?: Partial<Spec> } = {},
    ) {
      await ready;
      const uid = `uid${id}`;
      const own = { run: id, uid };
      const spec = specIn(id, change.spec);
      const marker: Marker = { uid, want: "run", generation: 1, cap: 2000, turn: 0, command: 0 };
      const create = (name: string, body: object) =>
        storage.blobs.create(names.runs, name, JSON.stringify(body));
      await create(specBlob(id), spec);
      await create(runBlobs(id, uid).plan, planIn(plan, spec));
      if (change.state !== undefined) await create(runBlobs(id, uid).state, { ...change.state, ...own });
      const metadata = encodeMarker({ ...marker, ...change.marker });
      await storage.blobs.create(names.active, id, "", { metadata });
    },
    /** A client writes the marker. */
    async mark(id: string, change: Partial<Marker>): Promise<void> {
      const found = await storage.blobs.head(names.active, id);
      if (found.kind === "missing") throw new Error(`no marker of ${id}`);
      const { metadata, etag } = found.properties;
      const next = encodeMarker({ ...decodeMarker(metadata, id), ...change });
      await storage.blobs.setMetadata(names.active, id, next, { ifMatch: etag });
    },
    async stateOf(id: string): Promise<State> {
      const found = await storage.blobs.read(names.runs, runBlobs(id, `uid${id}`).state);
      if (found.kind === "missing") throw new Error(`no state of ${id}`);
      return JSON.parse(Buffer.from(found.body).toString());
    },
    /** Leads for so long; gives the list pages of each loop. */
    async lead(ms: number, settings = { loopMs: 2_000, fastLoopMs: 100 }): Promise<number[]> {
      const pages: number[] = [];
      let before = storage.meter.counts().list;
      const sleep: typeof clock.sleep = (pauseMs, signal) => {
        const { list } = storage.meter.counts();
        if (signal === leader.signal) pages.push(list - before);
        if (signal === leader.signal) before = list;
        return clock.sleep(pauseMs, signal);
      };
      const term = newTerm({ ...ports, clock: { ...clock, sleep } }, leader);
      const leading = coordinate(term, settings);
      leading.catch(() => {});
      await world.advance(ms);
      end.abort();
      await world.finish(leading);
      return pages;
    },
  };
}
