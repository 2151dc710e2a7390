import { setTimeout as sleep } from "node:timers/promises";
import { depose, leader } from "../../../src/engine/client/leader.ts";
import { poisonOf, queuesOf } from "../../../src/engine/model/names.ts";
import type { Exchange, ProxyFault } from "../faultProxy.ts";
import { seededRandom } from "../virtualClock.ts";
import type { Fleet } from "./fleet.ts";
import { type ChaosEvent, type ChaosPlan, describeEvent, faultAt } from "./plan.ts";

export interface Way {
  readonly requests: number;
  readonly faults: number;
  /** Answers with messages that nobody may have read: the messages stay hidden for ten minutes. */
  readonly lostReceives: number;
}

/** Carries a plan out. When it resolves, every instance runs again and nothing goes wrong any more. */
export async function disturb(fleet: Fleet, plan: ChaosPlan, stuck: boolean, say: Say): Promise<Way> {
  const began = performance.now();
  const way = badWay(plan, stuck);
  fleet.proxy.use(way.faultOf);
  const lasting: Promise<unknown>[] = [];
  const out = new Set<number>();
  for (const event of plan.events) {
    await sleep(Math.max(0, 1_000 * event.atS - (performance.now() - began)));
    lasting.push(happen(fleet, event, { out, way, say }));
  }
  await sleep(Math.max(0, 1_000 * plan.seconds - (performance.now() - began)));
  await Promise.all(lasting);
  if (!stuck) fleet.proxy.use(() => "none");
  return way.seen();
}

type Say = (line: string) => void;

function badWay({ seed, weather }: ChaosPlan, stuck: boolean) {
  const { number } = seededRandom(seed + 1);
  let storm: Extract<ChaosEvent, { kind: "storm" }> | undefined;
  const seen = { requests: 0, faults: 0, lostReceives: 0 };
  const faultOf = (exchange: Exchange): ProxyFault => {
    if (stuck && exchange.method === "PUT" && /\/long-chunks-chaos-.*\/parts\//.test(exchange.url))
      return "drop request";
    const raging = storm !== undefined && number() < storm.share ? storm.fault : undefined;
    const fault = raging ?? faultAt(weather, number());
    seen.requests += 1;
    if (fault !== "none") seen.faults += 1;
    if (losesMessages(exchange, fault)) seen.lostReceives += 1;
    return fault;
  };
  return {
    faultOf,
    seen: () => seen,
    rage: (next: typeof storm) => {
      storm = next;
    },
  };
}

/** A message that was received by the copy of a request, or whose answer is lost or comes too late, is in nobody's hands. */
function losesMessages({ service, method, url }: Exchange, fault: ProxyFault): boolean {
  if (service !== "queue" || method !== "GET" || !url.includes("visibilitytimeout")) return false;
  return fault === "drop reply" || fault === "twice" || (typeof fault === "object" && "delayMs" in fault);
}

interface Around {
  /** Indexes of the instances that are dead, stopped or blocked. */
  readonly out: Set<number>;
  readonly way: ReturnType<typeof badWay>;
  say(line: string): void;
}

async function happen(fleet: Fleet, event: ChaosEvent, around: Around): Promise<void> {
  const { out, way, say } = around;
  if (event.kind === "storm") {
    say(describeEvent(event));
    way.rage(event);
    await sleep(1_000 * event.forS);
    way.rage(undefined);
  } else if (event.kind === "garbage") {
    say(describeEvent(event));
    const { names, storage } = fleet.direct;
    const { queues } = storage;
    // Nobody listens to poison queues.
    for (const queue of queuesOf(names).filter((one) => !one.endsWith(poisonOf("")))) {
      await queues.ensureQueue(queue);
      for (const text of event.texts) await queues.send(queue, text);
    }
  } else if (event.kind === "break lease") {
    say(describeEvent(event));
    // Nobody may lead at this moment.
    await depose(fleet.direct).catch(() => undefined);
  } else {
    const index = await victimOf(fleet, event, out);
    if (index === undefined) return say(`${describeEvent(event)}: there is none`);
    say(`${describeEvent(event)}: ${fleet.instances[index]?.name}`);
    out.add(index);
    await befall(fleet, index, event);
    out.delete(index);
  }
}

type OfOne = Extract<ChaosEvent, { whom: string }>;

/** Of those that run now. The first is never killed, for its memory is watched; half of all are left alone. */
async function victimOf(fleet: Fleet, { kind, whom, draw }: OfOne, out: ReadonlySet<number>) {
  if (out.size >= fleet.instances.length / 2) return undefined;
  const view = await leader(fleet.direct).catch(() => undefined);
  const holder = view?.kind === "leading" ? view.holder : undefined;
  const able = [...fleet.instances.entries()]
    .filter(([index, one]) => one.state === "running" && !out.has(index))
    .filter(([index]) => kind !== "kill" || index > 0);
  const fits = able.filter(([, { name }]) => (name === holder) === (whom === "leader"));
  const among = fits.length > 0 ? fits : able;
  return among[Math.floor(draw * among.length)]?.[0];
}

async function befall(fleet: Fleet, index: number, { kind, forS }: OfOne): Promise<void> {
  const instance = fleet.instances[index];
  const pid = instance?.pid;
  if (instance === undefined || pid === undefined) return;
  if (kind === "kill") {
    await instance.kill();
    await sleep(1_000 * forS);
    await instance.restart();
    return;
  }
  signal(pid, kind === "stop" ? "SIGSTOP" : "SIGUSR2");
  await sleep(1_000 * forS);
  if (kind === "stop") signal(pid, "SIGCONT");
}

/** It is a child of this process until it has been seen to end, so its number is nobody else's. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}
