import { AsyncLocalStorage } from "node:async_hooks";
import type { WorkMessage } from "../../../../src/engine/model/message.ts";
import type { DoomedTask } from "../../../support/rangesCode.ts";
import type { VirtualWorld } from "../../../support/virtualClock.ts";
import type { Effect } from "./effects.ts";
import { Ledger } from "./ledger.ts";

/** What is looked at. Each name stands for one promise, and a mutant is killed by the one that it breaks. */
export type Checker =
  | "the first writer wins"
  | "the result is the fold of what the manifest says"
  | "a run stops where its rule says"
  | "what names a file comes after it"
  | "every chunk is counted once"
  | "state is one chain by term"
  | "recorded what was sent"
  | "sent what was recorded"
  | "a member set is fixed"
  | "the cap is kept"
  | "the cost is bounded"
  | "deleted only what is worthless"
  | "a retry computes what has no partial"
  | "no result folds two identities unless it was asked to"
  | "other code computes nothing"
  | "an old run is never met"
  | "fails only for a reason"
  | "commands are answered"
  | "a pause holds"
  | "another version is respected"
  | "a sealed shard never changes"
  | "the state stays small"
  | "a due time is decided once"
  | "every run ends"
  /** Within a bound that its world gives. */
  | "every run ends in time"
  /** Within a bound of its time without them. */
  | "a run holds up no other"
  | "few attempts are made at work that never ends"
  | "few processes die of one piece of work"
  | "hardly anything is computed twice"
  | "messages do not pile up"
  | "what has nothing to do costs nothing"
  | "what is left is documented"
  | "lists show what has ended"
  | "nothing unexpected"
  /** What a scenario asks for beyond these. */
  | "the scenario's own end";

export interface Violation {
  readonly checker: Checker;
  readonly what: string;
}

/** The delivery on whose behalf something happens. */
export interface Handling {
  readonly message: WorkMessage | undefined;
  readonly beganMs: number;
  readonly instance: string;
}

/** User code that a thread has begun. `returned` once the attempt has ended with a word, which a dead process has not. */
export interface BegunTask {
  readonly task: DoomedTask;
  readonly handling: Handling;
  readonly atMs: number;
  returned: boolean;
  /** When the thread was free again; undefined while it works, and for ever if its process died. */
  endedMs?: number;
}

export interface Scene {
  readonly begun: readonly BegunTask[];
  readonly ledger: Ledger;
  nowMs(): number;
  /** Undefined for leaders and clients. */
  by(): Handling | undefined;
  report(checker: Checker, what: string): void;
}

/** Sees each effect before the ledger takes it over. */
export type Check = (effect: Effect) => void;

/** Hands every accepted effect to the checkers, collects what they report, and keeps the ledger. */
export class Judge implements Scene {
  readonly ledger: Ledger;
  readonly violations: Violation[] = [];
  readonly nowMs: () => number;
  readonly #world: Pick<VirtualWorld, "nowMs" | "tell">;
  readonly #checks: readonly Check[];
  readonly #handling = new AsyncLocalStorage<Handling>();
  #digest = 0;
  /** Tasks that threads have begun, and those that never came to an end. */
  readonly begun: BegunTask[] = [];

  constructor(world: Pick<VirtualWorld, "nowMs" | "tell">, checks: readonly ((scene: Scene) => Check)[]) {
    this.#world = world;
    this.nowMs = world.nowMs;
    this.ledger = new Ledger(world.nowMs);
    this.#checks = checks.map((make) => make(this));
  }

  see(effect: Effect): void {
    this.#note(effect);
    // What goes wrong in here must not look like a failure of storage to the code that is checked.
    try {
      for (const check of this.#checks) check(effect);
      this.ledger.apply(effect);
    } catch (error) {
      this.report("nothing unexpected", `a checker failed: ${error instanceof Error ? error.stack : error}`);
    }
  }

  // Checkers take these out of the scene, so they must not depend on how they are called.
  readonly by = (): Handling | undefined => this.#handling.getStore();

  async onBehalfOf<T>(handling: Handling, work: () => Promise<T>): Promise<T> {
    const done = await this.#handling.run(handling, work).finally(() => {
      for (const task of this.begun) if (task.handling === handling) task.returned = true;
    });
    return done;
  }

  onTask(task: DoomedTask, handling: Handling | undefined): (() => void) | undefined {
    if (handling === undefined) return undefined;
    const begun: BegunTask = { task, handling, atMs: this.nowMs(), returned: false };
    this.begun.push(begun);
    return () => {
      begun.endedMs = this.nowMs();
    };
  }

  readonly report = (checker: Checker, what: string): void => {
    this.#world.tell("checker", `BROKEN: ${checker}`, { what });
    if (this.violations.length < 20) {
      this.violations.push({ checker, what: `${what} (at ${(this.nowMs() / 1_000).toFixed(3)} s)` });
    }
  };

  /** Of everything that was accepted and when: equal for equal worlds. */
  digest(): string {
    return (this.#digest >>> 0).toString(16);
  }

  #note(effect: Effect): void {
    const name = effect.kind === "sent" ? effect.text : effect.name;
    const where = effect.kind === "sent" ? effect.queue : effect.container;
    this.#world.tell("storage", effect.kind, { [where]: name });
    const text = `${effect.kind} ${name} ${this.nowMs().toFixed(3)}`;
    for (let index = 0; index < text.length; index += 1) {
      this.#digest = Math.imul(this.#digest ^ text.charCodeAt(index), 0x01000193);
    }
  }
}
