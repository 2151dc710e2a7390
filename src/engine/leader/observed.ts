import type { SignedWork } from "../model/sign.ts";
import type { State } from "../model/state.ts";

/**
 * What workers tell and what the queues show, read once for all runs: before their partials are listed, so that work which
 * ends meanwhile is seen in one or the other.
 *
 * Not promised: that a sign or a peek is the last word. Signs come late, and a queue is only roughly in order.
 */
export interface Observed {
  /** When the signs were listed, storage's time. */
  readonly nowMs: number;
  /** What processes say of a piece of work, by `workKey`. */
  readonly signs: ReadonlyMap<string, readonly SeenSign[]>;
  /** Runs of which a live process computes some work, by uid. */
  readonly computing: ReadonlySet<string>;
  readonly packs: SeenQueue;
  readonly urgent: SeenQueue;
}

/** What the sign of one process says of a piece of work. */
export interface SeenSign extends SignedWork {
  readonly instance: string;
  readonly live: boolean;
  /** It was written as lately as it said it would be. */
  readonly fresh: boolean;
  /** Since the sign was written. */
  readonly silentMs: number;
  /** How the process ended, where its supervisor saw it. */
  readonly ended: string | undefined;
}

/** The first messages of a queue. */
export interface SeenQueue {
  /** There may be more messages. */
  readonly full: boolean;
  /** Work whose message is among them, by `workKey`. */
  readonly waiting: ReadonlySet<string>;
  /** The first pack of each send of a run's turn that nobody has received, by `turnKey`. */
  readonly firstPack: ReadonlyMap<string, number>;
  /** When the oldest message that nobody has received was inserted, storage's time. */
  readonly oldestMs: number | undefined;
}

type Of = Pick<State, "uid" | "generation">;
export const workKey = ({ uid, generation }: Of, name: string): string => `${uid} ${generation} ${name}`;
export const turnKey = ({
  uid,
  generation,
  turn,
  firstSend,
}: Of & Pick<State, "turn" | "firstSend">): string => `${uid} ${generation} ${turn} ${firstSend}`;
