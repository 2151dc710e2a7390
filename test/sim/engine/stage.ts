import type { Client } from "../../../src/engine/client/client.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import type { TreeLimits } from "../../../src/engine/model/packs.ts";
import type { Random, Storage } from "../../../src/engine/storage/ports.ts";
import type { Delivery } from "../../../src/engine/worker/ports.ts";
import type { EngineInstance, Role } from "../../support/engineInstance.ts";
import { type EngineWorld, engineWorld } from "../../support/engineWorld.ts";
import { type FarCall, farStorage } from "../../support/farStorage.ts";
import { network, type Weather } from "../../support/network.ts";
import type { DoomedTask, RangesOptions } from "../../support/rangesCode.ts";
import { simProcess } from "../../support/simProcess.ts";
import type { VirtualWorld } from "../../support/virtualClock.ts";
import { otherBuild } from "./builds.ts";
import { capIsKept } from "./checks/cap.ts";
import { commandsTakeEffect, pauseHolds } from "./checks/commands.ts";
import { chunksAreCountedOnce } from "./checks/counts.ts";
import { onlyWorthlessIsDeleted } from "./checks/deletes.ts";
import { watchStorage, workIn } from "./checks/effects.ts";
import { type Figures, figuresOf } from "./checks/figures.ts";
import { filesComeFirst } from "./checks/files.ts";
import { firstWriterWins, versionsAreRespected } from "./checks/firstWriter.ts";
import { noResultFoldsTwo, otherCodeComputesNothing } from "./checks/identities.ts";
import { type Handling, Judge, type Scene, type Violation } from "./checks/judge.ts";
import { listsShowWhatHasEnded } from "./checks/lists.ts";
import { costIsBounded } from "./checks/maxCost.ts";
import { brokenCode, failsForAReason } from "./checks/reasons.ts";
import { resultIsTheFold } from "./checks/results.ts";
import { retryIsExact } from "./checks/retries.ts";
import { dueTimesAreDecidedOnce } from "./checks/schedules.ts";
import { sendsAndRecordsAgree } from "./checks/sends.ts";
import { stateIsOneChain } from "./checks/stateChain.ts";
import { sealedStaysSealed, stateStaysSmall } from "./checks/stateInvariants.ts";
import { stopsWhereTheRuleSays } from "./checks/stops.ts";
import { oldRunIsNeverMet } from "./checks/strangers.ts";
import { type Hostility, hostile } from "./hostile.ts";

export interface SimulationResult {
  readonly violations: readonly Violation[];
  readonly figures: Figures;
  /** Of all that storage accepted, and when. */
  readonly digest: string;
}

export interface StageOptions {
  readonly seed: number;
  readonly tree?: TreeLimits | undefined;
  readonly chunkMs?: (chunk: number, random: Random, run: string) => number;
  /** Partials are too large for metadata, and a worker folds only a few of them at once. */
  readonly large?: boolean;
  /** No faults, so no worker's reading of a marker is late. */
  readonly calm?: boolean;
  /** Time limit of one attempt. Default that of the app. */
  readonly packLimitMs?: number;
}

/** One world with everything that storage accepts under the eyes of the checkers. */
export interface Stage {
  readonly engine: EngineWorld;
  readonly world: VirtualWorld;
  readonly judge: Judge;
  /** Changed while the world runs: what the user's code cannot do, and how the queues behave. */
  readonly broken: {
    readonly chunks: Set<number>;
    /** Chunks that fail at times, and how often. */
    readonly flaky: Map<number, number>;
    fold: ((chunks: number) => boolean) | undefined;
    /** What is said of a prefix, given what the rule says; undefined: what the rule says. */
    ask: ((chunks: number, byRule: boolean) => boolean) | undefined;
    /** Which tasks of which run never end, or end their process. */
    doom: ((task: DoomedTask, run: string) => "hangs" | "kills" | undefined) | undefined;
    /** Chunks that never end, or end their thread or process. */
    readonly doomed: Map<number, "hangs" | "exits" | "kills">;
    /** What is in the files that are the inputs of a plan that is a list. */
    fileOf: ((chunk: number) => string) | undefined;
    /** Chunks save files. */
    saves: boolean;
    /** The result is these files, one behind the other. */
    joins: boolean;
    /** Throws what a chunk of a run throws, or its plan, where `chunk` is undefined. */
    throws: ((run: string, chunk?: number) => void | Promise<void>) | undefined;
    /** Which code the broken chunks and folds throw with. */
    code: string;
  };
  readonly queues: Hostility;
  /** Told of each message that an instance takes, before anything else; set by scenarios. */
  onDelivery: ((handling: Handling) => void) | undefined;
  /** Holds up a call to storage right before it takes effect; set by scenarios. */
  hold: ((call: FarCall) => Promise<void> | undefined) | undefined;
  start(role?: Role): EngineInstance;
  /** A person or program with a network of its own. */
  user(how?: { readonly weather?: Weather<FarCall>; readonly other?: boolean }): User;
  /** What a scenario asks for beyond the checkers. */
  must(holds: boolean, what: string): void;
  result(): SimulationResult;
}

interface User {
  readonly client: Client;
  /** Resolves when the person's process is killed in the middle of a call. */
  readonly death: Promise<void>;
}

const fair: Weather<FarCall> = { calm: false, fateOf: () => "arrives" };

/** A tree of many levels out of a few packs. */
export const deepTree: TreeLimits = { directPacksMax: 2, shardPacksMax: 2, fanIn: 2 };

export function stage(options: StageOptions): Stage {
  const broken: Stage["broken"] = {
    chunks: new Set(),
    flaky: new Map(),
    fold: undefined,
    ask: undefined,
    doom: undefined,
    doomed: new Map(),
    fileOf: undefined,
    saves: false,
    joins: false,
    throws: undefined,
    code: brokenCode,
  };
  const queues: Hostility = {
    ...{ doubled: 0, heldBack: 0, pageSize: 5_000, emptyPages: 0, brokenBatches: 0 },
    ...{ lost: 0, oddPeeks: 0 },
  };
  let judge: Judge | undefined;
  let self: Stage | undefined;
  /** Messages that leaders handed to the workers of their own processes. */
  const takenHere = new Set<string>();
  let onBegin: (handling: Handling) => void = () => {};
  const code: RangesOptions = {
    signed: true,
    shaped: true,
    fileOf: (chunk) => broken.fileOf?.(chunk),
    saves: () => broken.saves,
    joins: () => broken.joins,
    doom: (task) => broken.doom?.(task, judge?.by()?.message?.run ?? ""),
    doomChunk: (chunk) => broken.doomed.get(chunk),
    onTask: (task) => judge?.onTask(task, judge.by()),
    ...(options.large === true ? { padding: 5_000 } : {}),
    chunkMs: (chunk, random) => options.chunkMs?.(chunk, random, judge?.by()?.message?.run ?? "") ?? 100,
    onChunk(chunk, random) {
      const handling = judge?.by();
      if (handling !== undefined) onBegin(handling);
      const thrown = broken.throws?.(handling?.message?.run ?? "", chunk);
      if (thrown !== undefined) return thrown;
      const share = broken.flaky.get(chunk);
      const fails = broken.chunks.has(chunk) || (share !== undefined && random.number() < share);
      if (fails) throw new CalculationError(broken.code, `chunk ${chunk} is broken`);
      return undefined;
    },
    onPlan: () => void broken.throws?.(judge?.by()?.message?.run ?? ""),
    onAsk: (chunks, byRule) => broken.ask?.(chunks, byRule) ?? byRule,
    onFold(ranges) {
      const chunks = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
      if (broken.fold?.(chunks))
        throw new CalculationError(broken.code, `merge is broken at ${chunks} chunks`);
    },
  };
  const pauses = (scene: Scene) => {
    const { check, onBegin: begin } = pauseHolds(scene);
    if (options.calm === true) onBegin = begin;
    return check;
  };

  const engine = engineWorld({
    seed: options.seed,
    code,
    ...(options.large === true ? { foldBytesMax: 12_000 } : {}),
    ...(options.tree === undefined ? {} : { tree: options.tree }),
    ...(options.packLimitMs === undefined ? {} : { packLimitMs: options.packLimitMs }),
    watched(account, world) {
      const made = new Judge(world, [...checks, pauses]);
      judge = made;
      const watched = watchStorage(
        account,
        (effect) => {
          // What a worker took without a queue, and then left to it, is no second send.
          if (effect.kind !== "sent" || !takenHere.delete(effect.text)) made.see(effect);
        },
        (container, name) => made.ledger.isThere(container, name),
      );
      const near = hostile(watched, world.random, queues);
      return heldUp(near, (call) => self?.hold?.(call));
    },
    handling: (delivery, work, instance) => onBehalf(delivery, work, instance),
    takenHere(text, queue) {
      takenHere.add(text);
      seen.see({ kind: "sent", queue, text, message: workIn(text) });
    },
  });
  const seen = judge as unknown as Judge;
  const onBehalf = ({ text }: Delivery, work: () => Promise<void>, instance: string): Promise<void> => {
    const handling = { message: messageIn(text), beganMs: engine.world.nowMs(), instance };
    self?.onDelivery?.(handling);
    return seen.onBehalfOf(handling, work);
  };

  self = {
    ...{ engine, world: engine.world, judge: seen, broken, queues, hold: undefined, onDelivery: undefined },
    start: (role) => engine.start(role),
    user({ weather = fair, other = false } = {}) {
      const { world, client } = engine;
      const self = simProcess(world, client.clock, "user");
      const carry = network<FarCall>(client.clock, self, world.random, weather);
      const far = farStorage(client.storage, self.clock, carry);
      const storage = other ? otherBuild(far) : far;
      return { client: { ...client, clock: self.clock, storage }, death: self.death };
    },
    must(holds, what) {
      if (!holds) seen.report("the scenario's own end", what);
    },
    result() {
      for (const { event, fields } of engine.log) {
        const skipped = event === "run-skipped" && fields["code"] === "unexpected";
        // These tell of storage that is away by this event, and what they were at is done again.
        const away = ["poison", "expiry", "local worker"].includes(String(fields["where"]));
        const unexpected = event === "unexpected" && !away;
        if (skipped || unexpected) seen.report("nothing unexpected", JSON.stringify(fields));
      }
      return { violations: seen.violations, figures: figuresOf(seen.ledger), digest: seen.digest() };
    },
  };
  return self;
}

function heldUp(storage: Storage, hold: (call: FarCall) => Promise<void> | undefined): Storage {
  const held = <T extends object>(target: T, part: string): T =>
    new Proxy(target, {
      get(object, key) {
        const member = Reflect.get(object, key) as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          const wait = hold({ op: `${part}.${String(key)}`, args });
          if (wait !== undefined) await wait;
          return member.apply(object, args);
        };
      },
    });
  return { ...storage, blobs: held(storage.blobs, "blobs"), queues: held(storage.queues, "queues") };
}

const checks = [
  firstWriterWins,
  versionsAreRespected,
  resultIsTheFold,
  stopsWhereTheRuleSays,
  filesComeFirst,
  chunksAreCountedOnce,
  stateIsOneChain,
  sendsAndRecordsAgree,
  listsShowWhatHasEnded,
  capIsKept,
  costIsBounded,
  onlyWorthlessIsDeleted,
  retryIsExact,
  oldRunIsNeverMet,
  noResultFoldsTwo,
  otherCodeComputesNothing,
  failsForAReason,
  commandsTakeEffect,
  sealedStaysSealed,
  stateStaysSmall,
  dueTimesAreDecidedOnce,
];

function messageIn(text: string): Handling["message"] {
  try {
    return workIn(text);
  } catch {
    return undefined;
  }
}
