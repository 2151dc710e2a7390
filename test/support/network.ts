import { StorageError } from "../../src/engine/model/errors.ts";
import type { Clock, Random } from "../../src/engine/storage/ports.ts";
import type { TraceFields } from "./trace.ts";

/** What becomes of one call between a process and storage. */
export type Fate =
  | "arrives"
  /** Reset on the way there: no effect, and an error at once. */
  | "lost request"
  /** Reset on the way back: the effect, and an error. */
  | "lost reply"
  /** Held up for some seconds, longer than any cap; carried out then. */
  | "late"
  /** Held up for longer than a lease; carried out then. */
  | "very late"
  /** Carried out, and the answer comes back late, often just within the cap. */
  | "slow reply"
  /** Delivered twice, the second time much later. */
  | "twice"
  | "refused"
  /** No effect and no answer, ever. */
  | "hangs"
  /** The effect, and no answer, ever. */
  | "hangs after"
  /** The process stops (SIGSTOP) with the request in its socket, or before it hears the answer. */
  | "stops before"
  | "stops after"
  /** The process dies (SIGKILL) before the request leaves, or before it hears the answer. */
  | "dies before"
  | "dies after";

export const fates: readonly Fate[] = [
  "lost request",
  "lost reply",
  "late",
  "very late",
  "slow reply",
  "twice",
  "refused",
  "hangs",
  "hangs after",
  "stops before",
  "stops after",
  "dies before",
  "dies after",
];

export type CallName =
  | "ensure"
  | "view"
  | "acquire"
  | "renew"
  | "release"
  | "breakNow"
  | "write leading"
  | "write ended"
  | "read state"
  | "write state";

/** How the way between one process and storage is at present. */
export interface Weather<Call = CallName> {
  /** Decides about each call. */
  fateOf(call: Call): Fate;
  /** Set once faults have stopped: what is still on its way then is lost, so that a bound can be counted from there. */
  calm: boolean;
  /** How long what is very late is on its way, and a process stopped by a call stays so; in ms. */
  readonly delays?: { veryLate(random: Random): number; stop(random: Random): number };
}

/** The process at this end, as the network may treat it. */
export interface Sender {
  readonly clock: Clock;
  isDead(): boolean;
  die(): void;
  stopFor(ms: number): void;
  /** Tells whoever replays the world what happens to this process. */
  tell(event: string, fields?: TraceFields): void;
}

/** Carries one call to the service and its answer back. */
export type Carry<Call = CallName> = <T>(name: Call, call: () => Promise<T>) => Promise<T>;

/**
 * The way between one process and storage. The request travels on the service's clock, since it is on its way
 * whatever becomes of its sender, and may arrive long after the sender gave up; the answer travels on the
 * process's own clock, so a stopped process does not hear it and a dead one never does. Each leg takes a time
 * drawn from the seed: these are the points at which the processes of a world are interleaved.
 */
export function network<Call = CallName>(
  service: Clock,
  sender: Sender,
  random: Random,
  weather: Weather<Call>,
): Carry<Call> {
  const here = sender.clock;
  const veryLateMs = () => (weather.delays?.veryLate ?? aroundTheLease)(random);
  const stopMs = () => (weather.delays?.stop ?? forSeconds)(random);
  const travelMs = (): number => 2 + random.number() * 25;
  const refusal = (): StorageError => {
    const [code, status] = refusals[Math.floor(random.number() * refusals.length)] ?? ["ServerBusy", 503];
    return new StorageError("busy", code, status, code);
  };

  return async <T>(name: Call, call: () => Promise<T>): Promise<T> => {
    if (sender.isDead()) return never();
    const calmBefore = weather.calm;
    const fate = weather.fateOf(name);
    if (fate !== "arrives") sender.tell(fate, { call: callText(name) });
    const arrive = async (afterMs: number): Promise<Answer<T>> => {
      await service.sleep(afterMs);
      return weather.calm && !calmBefore && afterMs > 1_000 ? never() : answerOf(call);
    };
    switch (fate) {
      case "arrives":
        break;
      case "lost request":
        await here.sleep(travelMs());
        throw noAnswer();
      case "hangs":
        return never();
      case "refused":
        await here.sleep(2 * travelMs());
        throw refusal();
      case "dies before":
        sender.die();
        return never();
      case "stops before":
        sender.stopFor(stopMs());
        // What was in the socket leaves when the process goes on; its own cap may be over by then.
        await here.sleep(0);
        break;
      default:
        break;
    }
    const answer = await arrive(
      fate === "late" ? 400 + random.number() * 8_000 : fate === "very late" ? veryLateMs() : travelMs(),
    );
    if (fate === "twice") void arrive(random.number() < 0.5 ? travelMs() : veryLateMs());
    if (fate === "hangs after") return never();
    if (fate === "dies after") {
      sender.die();
      return never();
    }
    if (fate === "stops after") sender.stopFor(stopMs());
    await here.sleep(fate === "slow reply" ? 300 + random.number() * 1_650 : travelMs());
    if (fate === "lost reply") throw noAnswer();
    if ("error" in answer) throw answer.error;
    return answer.value;
  };
}

type Answer<T> = { readonly value: T } | { readonly error: unknown };

const refusals = [
  ["ServerBusy", 503],
  ["InternalError", 500],
  ["OperationTimedOut", 500],
  ["", 429],
] as const;

/** A call of the election by its name, any other by its operation and where it goes. */
const callText = (call: unknown): string => {
  if (typeof call !== "object" || call === null || !("op" in call)) return String(call);
  const { op, args = [] } = call as { readonly op: string; readonly args?: readonly unknown[] };
  const where = args.slice(0, 2).filter((one) => typeof one === "string" && one.length < 100);
  return [op, ...where].join(" ");
};

/** Around the lease length and beyond: what was sent under one lease may arrive under the next but one. */
const aroundTheLease = (random: Random): number => 10_000 + random.number() * 35_000;
const forSeconds = (random: Random): number => 500 + random.number() * 25_000;
const never = (): Promise<never> => new Promise(() => {});
const noAnswer = () => new StorageError("busy", "", undefined, "The connection was reset.");

const answerOf = <T>(call: () => Promise<T>): Promise<Answer<T>> =>
  call().then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
