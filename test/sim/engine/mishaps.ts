import { leaderBlob } from "../../../src/engine/model/names.ts";
import type { EngineInstance, Role } from "../../support/engineInstance.ts";
import { simNames as names } from "../../support/engineWorld.ts";
import { firstCode } from "../../support/rangesCode.ts";
import { burnMessages, doubleMessages } from "./hostile.ts";
import { loseMessages, operate, rollBack } from "./losses.ts";
import type { Stage } from "./stage.ts";
import type { Storm } from "./storm.ts";

/** Whoever is in a world, and how the next one would come into it. */
export interface Company {
  readonly play: Stage;
  readonly weather: Storm;
  cast(): Role;
  /** Identity of the code that those who come have. */
  code: string;
}

export const codes = [firstCode, "ranges@2"] as const;

/** Whoever comes from now on has other code, or what was there before; some of those who are there go. */
export function changeCode(company: Company): void {
  const { engine, world } = company.play;
  company.code = company.code === firstCode ? codes[1] : firstCode;
  join(company, { leads: true, works: true });
  for (const one of engine.instances) if (!one.isDead() && world.random.number() < 0.3) one.terminate();
}

/** Another instance. */
export function join({ play, cast, code }: Company, role: Role = {}): EngineInstance {
  return play.start({
    code,
    ...cast(),
    ...role,
  });
}

type Mishap = (victim: EngineInstance, company: Company) => Promise<void> | void;

/** Chance out of all, and what happens. */
const mishaps: ReadonlyArray<readonly [number, Mishap]> = [
  [12, kill],
  [12, (victim, company) => crash(victim, company)],
  [6, (victim, company) => crash(victim, company, "timeout")],
  [30, stop],
  [10, throttle],
  [8, double],
  [6, burn],
  [6, deploy],
  [6, terminate],
  [6, (_, company) => void join(company)],
  [8, breakLease],
];

/** Of worlds in which storage loses what it had. */
const lossyMishaps: typeof mishaps = [
  ...mishaps,
  [20, (_, { play }) => loseMessages(play.engine.storage, play.world.random)],
  [20, (_, company) => operate(company)],
  [6, (_, company) => rollBack(company)],
  [10, (victim) => victim.stopFor(20_000)],
];

/** The leader is struck more often than others. `lossy`: at times storage is instead. */
export async function strike(company: Company, lossy = false): Promise<void> {
  const { engine, world } = company.play;
  const { random } = world;
  const there = engine.instances.filter((one) => !one.isDead());
  const anyone = there[Math.floor(random.number() * there.length)];
  const victim = random.number() < 0.6 ? (there.find((one) => one.leading()) ?? anyone) : anyone;
  if (victim === undefined) return void join(company);
  const all = lossy ? lossyMishaps : mishaps;
  let draw = random.number() * all.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, happen] of all) {
    draw -= weight;
    if (draw <= 0) return happen(victim, company);
  }
}

function kill(victim: EngineInstance, company: Company): void {
  victim.kill();
  join(company);
}

/** The worker alone dies, and another one takes its place. */
function crash(victim: EngineInstance, company: Company, how?: "timeout"): void {
  victim.crash(how);
  join(company);
}

function stop(victim: EngineInstance, { play }: Company): void {
  const { random } = play.world;
  victim.stopFor(500 + random.number() * random.number() * 300_000);
}

function throttle(_: EngineInstance, { play, weather }: Company): void {
  const { random } = play.world;
  weather.throttled = 0.3 + random.number() * 0.7;
  play.engine.client.clock.after(1_000 + random.number() * 20_000, () => {
    weather.throttled = 0;
  });
}

/** By hand; at times no lease call comes through for a while, so that two lead in good faith. */
function breakLease(_: EngineInstance, { play, weather }: Company): void {
  const { operator } = play.engine.storage;
  const { random } = play.world;
  if (random.number() < 0.5) {
    weather.leaseCut = true;
    play.engine.client.clock.after(random.number() * 8_000, () => {
      weather.leaseCut = false;
    });
  }
  try {
    operator.breakLease(names.coordination, leaderBlob);
  } catch {
    // Nobody has led yet, or nobody holds it now.
  }
}

const someQueue = ({ play }: Company): string =>
  play.world.random.number() < 0.5 ? names.packs : names.urgent;

function double(_: EngineInstance, company: Company): Promise<void> {
  return doubleMessages(company.play.engine.storage, someQueue(company));
}

function burn(_: EngineInstance, company: Company): Promise<void> {
  company.play.judge.ledger.losesMessages = true;
  return burnMessages(company.play.engine.storage, someQueue(company));
}

/** Another instance comes, and one may go. */
function deploy(victim: EngineInstance, company: Company): void {
  join(company, { leads: true, works: true });
  if (company.play.world.random.number() < 0.5) victim.terminate();
}

function terminate(victim: EngineInstance, company: Company): void {
  victim.terminate();
  join(company);
}
