import { command } from "../../../src/engine/client/commands/command.ts";
import type { Change } from "../../../src/engine/client/commands/decideCommand.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { InputError } from "../../../src/engine/model/errors.ts";
import { isFinal, type Phase } from "../../../src/engine/model/state.ts";
import { requestOf, type SubmitRequest } from "../../support/engineWorld.ts";
import { placeOf, type RunRecord } from "./checks/ledger.ts";
import { loseBlob } from "./losses.ts";
import { quiet } from "./quiet.ts";
import { type SimulationResult, type Stage, type StageOptions, stage } from "./stage.ts";

/** What a scenario does and waits for. Everything it asks is answered at once; faults strike only instances. */
export interface Script extends Stage {
  /** The run that has this id at present. */
  run(id?: string): RunRecord | undefined;
  submit(request: SubmitRequest): Promise<void>;
  tell(change: Change["kind"] | Change, id?: string): Promise<void>;
  /** For how long it waits for what has to come about; ten minutes, so that a broken world is soon seen. */
  patienceMs: number;
  /** Lets time pass until this holds; that it comes about is part of the scenario. */
  until(what: string, holds: () => boolean, limitMs?: number): Promise<void>;
  /** Until the run of this id has ended in a generation and its marker is gone. */
  untilEnded(generation?: number, id?: string): Promise<void>;
  mustBe(phase: Phase, generation?: number, id?: string): void;
  /** An operator deletes a blob. */
  lose(container: string, name: string): void;
  /** Whether the platform replaces instances that died. */
  replaces: boolean;
}

/** Plays a scenario to its end, under the eyes of all checkers. */
export async function play(
  options: StageOptions,
  scenario: (script: Script) => Promise<void>,
): Promise<SimulationResult> {
  const script = scriptOn(stage(options));
  return playOut(script, () => scenario(script));
}

/** A scenario that breaks off tells what the checkers have seen before. */
export async function playOut(script: Script, scenario: () => Promise<void>): Promise<SimulationResult> {
  try {
    await scenario();
  } catch (error) {
    script.must(false, `it broke off: ${String(error)}`);
    return script.result();
  }
  return quiet(script);
}

export function scriptOn(on: Stage): Script {
  const { world, judge, engine, must } = on;
  const run = (id = "r"): RunRecord | undefined =>
    judge.ledger.current(id, "spec") ?? judge.ledger.current(id, "marker");
  const until = async (what: string, holds: () => boolean, limitMs = script.patienceMs): Promise<void> => {
    await world.until(() => holds() || judge.violations.length > 0, limitMs);
    must(holds(), `it did not come to this: ${what}`);
  };
  const script = Object.assign(on, {
    replaces: true,
    patienceMs: 600_000,
    run,
    until,
    async submit(request: SubmitRequest) {
      // A submit behind a deletion waits a little, then says so; a person tries again.
      for (let tried = 0; tried < 100; tried += 1) {
        const sent = submit(engine.client, requestOf(request)).then(
          () => true,
          (error: unknown) => {
            if (error instanceof InputError && error.code === "being-deleted") return false;
            throw error;
          },
        );
        if (await world.finish(sent)) return;
        await world.advance(1_000);
      }
    },
    async tell(change: Change["kind"] | Change, id = "r") {
      const asked = typeof change === "string" ? ({ kind: change } as Change) : change;
      await world.finish(command(engine.client, id, asked));
    },
    lose(container: string, name: string) {
      const place = placeOf(container, name);
      const of = "uid" in place ? judge.ledger.record(place.id, place.uid) : undefined;
      loseBlob(on, of ?? ("id" in place ? run(place.id) : undefined), container, name);
    },
    untilEnded: (generation = 1, id = "r") =>
      until(`generation ${generation} of ${id} ends`, () => {
        const known = run(id);
        const state = known?.state;
        return state?.generation === generation && isFinal(state.phase) && known?.marker === undefined;
      }),
    mustBe(phase: Phase, generation = 1, id = "r") {
      const state = run(id)?.state;
      const is = `${state?.phase} in generation ${state?.generation}`;
      must(state?.phase === phase && state.generation === generation, `${id} is ${is}, not ${phase}`);
    },
  });
  return script;
}

export const hourMs = 3_600_000;

/** A leader and workers apart, so that each can be struck alone. */
export const leaderOnly = { works: false, breakAfterMs: 4_000, tickEveryMs: 1_000 } as const;
export const workerOnly = { leads: false } as const;
