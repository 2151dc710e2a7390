import type { Random } from "../../../src/engine/storage/ports.ts";
import type { Role } from "../../support/engineInstance.ts";
import type { SubmitRequest } from "../../support/engineWorld.ts";
import { firstCode } from "../../support/rangesCode.ts";
import { hopelessCode } from "./checks/reasons.ts";
import { putSpecBack } from "./losses.ts";
import { type Company, changeCode, codes, join, strike } from "./mishaps.ts";
import { type EndBound, quiet } from "./quiet.ts";
import { awaitedFrom, lossyFrom, stoppingFrom, unevenFrom, waitingFrom } from "./seeds.ts";
import { deepTree, type SimulationResult, type Stage, stage } from "./stage.ts";
import { storm } from "./storm.ts";
import { unevenWorld } from "./uneven.ts";
import { users } from "./users.ts";
import { askAtTimes, waitingMs, waitingOf } from "./waiting.ts";

/**
 * One whole world from one seed: some instances, one to three runs, bad networks and queues, and again and again a
 * blow for one of them or a command at the worst moment; then a quiet time in which all has to come to its end. A
 * negative seed gives a world in which the code of instances is changed and changed back, one from `lossyFrom` on a
 * world in which storage loses what it had, one from `unevenFrom` on a world of unlike packs (`uneven.ts`), one from `stoppingFrom`
 * on a world of runs that may stop, one from `waitingFrom` on a world of attempts that wait (`waiting.ts`), and one from
 * `awaitedFrom` on a world of requests that wait for runs.
 */
export async function simulate(of: number): Promise<SimulationResult> {
  const seed = Math.abs(of);
  const deep = seed % 3 !== 0;
  const awaited = seed >= awaitedFrom;
  const waiting = seed >= waitingFrom && !awaited;
  const stopping = seed >= stoppingFrom && !waiting && !awaited;
  const special = stopping || waiting;
  if (seed >= unevenFrom && !special && !awaited) return unevenWorld(seed);
  const lossy = special || awaited ? seed % 4 === 3 : seed >= lossyFrom;
  let paceMs = 0;
  const chunkMs = (_chunk: number, random: Random): number => paceMs * (0.2 + random.number());
  const packLimitMs = [5_000, 60_000, 300_000][seed % 3] as number;
  const tree = deep ? deepTree : undefined;
  const play = stage({ seed, tree, chunkMs, large: seed % 5 === 0, packLimitMs });
  const { world, judge, broken, queues } = play;
  const { random } = world;
  paceMs = 50 + random.number() * random.number() * 3_000;
  const weather = storm(world, random.number() < 0.3 ? 0 : random.number() * 0.04);
  queues.doubled = random.number() < 0.5 ? random.number() * 0.2 : 0;
  queues.heldBack = random.number() < 0.5 ? random.number() * 0.1 : 0;
  if (random.number() < 0.3) queues.pageSize = 2 + Math.floor(random.number() * 6);
  if (random.number() < 0.3) queues.emptyPages = random.number() * 0.3;
  if (random.number() < 0.3) queues.brokenBatches = random.number() * 0.5;
  if (lossy) {
    judge.ledger.losesMessages = true;
    queues.lost = random.number() < 0.5 ? random.number() * 0.1 : 0;
    queues.oddPeeks = random.number() < 0.5 ? random.number() * 0.5 : 0;
    weather.oddHeartbeats = random.number() < 0.5 ? random.number() * 0.5 : 0;
  }
  const cast = (): Role => ({
    weather,
    budgetMs: random.number() < 0.3 ? 30_000 : 300_000,
    fastLoopMs: 100 + random.number() * 400,
    breakAfterMs: random.number() < 0.5 ? 4_000 : 0,
    keepDays: random.number() < 0.5 ? 30 : 0,
    leads: random.number() < 0.9,
    works: random.number() < 0.9,
  });
  const company: Company = { play, weather, cast, code: firstCode };
  // Whatever the draw, one instance at least leads and works.
  join(company, { leads: true, works: true });
  for (let count = Math.floor(random.number() * 3); count > 0; count -= 1) join(company);

  const plain = requestsFrom(random);
  const changed = stopping ? stoppingOf : waitingOf;
  // Without a draw, so that the other worlds stay as they are.
  const bounded = special || seed % 6 !== 5 ? plain : plain.map((one) => ({ ...one, maxCost: 0.001 }));
  const requests = special ? plain.map((request) => changed(request, random)) : bounded;
  const askNoMore = waiting ? askAtTimes(play) : () => {};
  const people = users(company, requests, { changing: of < 0, awaited });
  breakSome(play, requests[0]);
  // Without a draw, so that the other worlds stay as they are.
  if (seed % 4 === 2) for (let chunk = 1; chunk < 400; chunk += 6) broken.flaky.set(chunk, 0.5);
  const blows = 3 + Math.floor(random.number() * 7);
  for (let blow = 0; blow < blows && judge.violations.length === 0; blow += 1) {
    await world.advance(random.number() * random.number() * 9_000);
    if (of < 0 && random.number() < 0.3) changeCode(company);
    else if (random.number() < 0.55) await strike(company, lossy);
    else people.act();
  }
  await world.advance(random.number() * 4_000);

  weather.calm = true;
  queues.doubled = 0;
  queues.heldBack = 0;
  queues.brokenBatches = 0;
  queues.lost = 0;
  queues.oddPeeks = 0;
  askNoMore();
  for (const one of play.engine.instances) one.resume();
  join(company, { leads: true, works: true });
  // Each run has one instance at least with its code.
  for (const code of of < 0 ? codes : []) join(company, { leads: true, works: true, code });
  for (const run of lossy ? judge.ledger.runs.values() : []) await putSpecBack(play, run);
  await people.settle();
  // A thread that hung before continues until its limit.
  const hangs = broken.doom !== undefined;
  if (random.number() < 0.5) {
    broken.chunks.clear();
    broken.flaky.clear();
    broken.fold = undefined;
    broken.doom = undefined;
    await people.retryAll();
  }
  await people.resumeAll();
  await quiet(
    play,
    endBound(requests, {
      ...{ paceMs, packLimitMs, hangs, changing: of < 0, waiting },
      throws: broken.chunks.size + broken.flaky.size > 0 || broken.fold !== undefined,
    }),
  );
  people.check();
  return play.result();
}

/** All work once more on the two threads that are there at least; what never ends does so at its limit, four times. */
function endBound(
  requests: readonly SubmitRequest[],
  how: {
    readonly paceMs: number;
    readonly packLimitMs: number;
    readonly hangs: boolean;
    readonly throws: boolean;
    readonly changing: boolean;
    readonly waiting: boolean;
  },
): EndBound {
  const chunks = requests.reduce((sum, request) => sum + request.chunks, 0);
  const idealMs = (chunks * 0.7 * how.paceMs) / 2;
  const limitsMs = how.hangs ? 4 * how.packLimitMs : 0;
  // A run waits so long for instances that have its code.
  const codeMs = how.changing ? 3_600_000 + how.packLimitMs : 0;
  // A pack, and what is folded of it on each level, waits so long in all its attempts.
  const waitsMs = how.waiting ? waitingMs : how.throws ? 4 * 77_000 : 0;
  return { idealMs, k: 2, cMs: 120_000 + limitsMs + codeMs + waitsMs };
}

function requestsFrom(random: Random): SubmitRequest[] {
  const count = random.number() < 0.6 ? 1 : 2 + Math.floor(random.number() * 2);
  return Array.from({ length: count }, (_, index) => ({
    id: `run${index}`,
    chunks: Math.floor(random.number() * 50),
    packSize: 1 + Math.floor(random.number() * 4),
    cap: random.number() < 0.5 ? 2_000 : 1 + Math.floor(random.number() * 8),
    list: random.number() < 0.4,
    ...(random.number() < 0.4 ? { tolerate: { percent: 10 + random.number() * 40 } } : {}),
  }));
}

/** More chunks, so that packs have several, and a rule that accepts some prefix or none. */
function stoppingOf(request: SubmitRequest, random: Random): SubmitRequest {
  const chunks = Math.floor(random.number() * random.number() * 300);
  return { ...request, chunks, stopAt: Math.floor(random.number() * 1.3 * chunks) };
}

/** Some chunks that cannot be computed or never end, or a merge that breaks at a certain size. */
function breakSome({ broken, world: { random } }: Stage, first: SubmitRequest | undefined): void {
  if (first === undefined || random.number() < 0.5) return;
  if (random.number() < 0.2) {
    const chunk = Math.floor(random.number() * first.chunks);
    broken.doom = ({ kind, from = 0, to = 0 }, run) =>
      kind === "compute" && run === first.id && from <= chunk && chunk < to ? "hangs" : undefined;
  }
  if (random.number() < 0.3) broken.code = hopelessCode;
  if (random.number() < 0.8) {
    for (let count = 0; count < 3; count += 1) broken.chunks.add(Math.floor(random.number() * first.chunks));
  } else {
    const size = Math.max(2, first.chunks * random.number());
    broken.fold = (chunks) => chunks >= size;
  }
}
