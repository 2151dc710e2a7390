import type { ToldFailure } from "../model/failureRecord.ts";
import type { Marker } from "../model/marker.ts";
import type { Manifest, Plan, Spec } from "../model/run.ts";
import type { Work } from "../model/runBlobs.ts";
import type { State } from "../model/state.ts";
import type { HeartbeatWork } from "../model/workerHeartbeat.ts";
import type { Lists } from "./notes.ts";

/** Which calls one poll of a run is worth. */
export interface PollCalls {
  readonly plan: boolean;
  readonly manifest: boolean;
  readonly failures: boolean;
  /** Open shards, neighbors together. */
  readonly groups: readonly ShardGroup[];
  /** Nodes, one by one or in lists: one of the two is empty. */
  readonly nodes: readonly NodeName[];
  readonly nodeGroups: readonly NodeGroup[];
}

/** Neighboring shards that one list call brings: `10 ** digits` of them from `shard` on. */
export interface ShardGroup {
  readonly shard: number;
  readonly digits: number;
}

/** The same for nodes of one level. */
export interface NodeGroup extends ShardGroup {
  readonly level: number;
}

export interface NodeName {
  readonly level: number;
  readonly index: number;
}

/** What one poll found of one run. The decisions see storage only through this. */
export interface Seen {
  readonly spec: Spec;
  readonly marker: Marker;
  readonly plan?: Plan | undefined;
  /** SHA-256 of the plan's bytes, and when they were written, storage's time. */
  readonly planHash?: string | undefined;
  readonly planMs?: number | undefined;
  /** Partials listed, of the shards that were listed. */
  readonly parts: readonly SeenOutput[];
  /** Shards of which every partial there was is in `parts`. */
  readonly shards: ReadonlySet<number>;
  /** Nodes of this generation that are there. */
  readonly nodes: readonly SeenNode[];
  readonly failures: readonly SeenFailure[];
  /** The latest attempts that threw while others of their send are to come. */
  readonly tried: readonly SeenTried[];
  /** Instances with other code that enqueued work again, when they last said so by storage's time; absent where unlisted. */
  readonly otherCode?: readonly SeenOtherCode[] | undefined;
  /** No list page was left for its open shards. */
  readonly unlisted: boolean;
  readonly manifest?: Manifest | undefined;
  /** What has been listed when, this poll included. */
  readonly lists: Lists;
}

export interface SeenOtherCode {
  readonly generation: number;
  readonly needed: string;
  readonly theirs: string | undefined;
  readonly atMs: number;
}

export interface SeenOutput {
  readonly index: number;
  /** Tells how it came about, see `parseOutputFacts`. */
  readonly contentType: string;
}

export interface SeenNode extends SeenOutput {
  readonly level: number;
}

export interface SeenFailure extends ToldFailure {
  readonly work: Work;
  readonly generation: number;
  readonly send: number;
}

interface SeenTried extends SeenFailure {
  /** When it was noted, storage's time. */
  readonly atMs: number;
}

/**
 * What workers tell and what the queues show, read once for all runs: before their partials are listed, so that work which
 * ends meanwhile is seen in one or the other.
 *
 * Not promised: that a heartbeat or a peek is the last word. Heartbeats come late, and a queue is only roughly in order.
 */
export interface Observed {
  /** When the heartbeats were listed, storage's time. */
  readonly nowMs: number;
  /** What processes say of a piece of work, by `workKey`. */
  readonly heartbeats: ReadonlyMap<string, readonly SeenHeartbeat[]>;
  /** How much work of a run live processes compute, by uid, where they compute any. */
  readonly computing: ReadonlyMap<string, number>;
  readonly packs: SeenQueue;
  readonly urgent: SeenQueue;
  /** When poison queues were read last, storage's time; absent: that is not asked. */
  readonly poisonMs?: number | undefined;
}

/** What the heartbeat of one process says of a piece of work. */
export interface SeenHeartbeat extends HeartbeatWork {
  readonly instance: string;
  readonly live: boolean;
  /** It was written as lately as it said it would be. */
  readonly fresh: boolean;
  /** Since the heartbeat was written. */
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
  cursorSend,
}: Of & Pick<State, "turn" | "cursorSend">): string => `${uid} ${generation} ${turn} ${cursorSend}`;
