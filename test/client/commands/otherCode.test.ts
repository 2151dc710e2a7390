import { describe, expect, it } from "vitest";
import {
  type Change,
  type CommandFacts,
  decideCommand,
} from "../../../src/engine/client/commands/decideCommand.ts";
import { firstState, type State } from "../../../src/engine/model/state.ts";

const ended: State = {
  ...firstState({ run: "r", uid: "u", generation: 1, cap: 9, nowMs: 0 }),
  phase: "failed",
  code: "sum@1",
  layout: { chunks: 4, packSize: 1, shardSize: 4, fanIn: 2, packMs: 1 },
};
const facts = (code: string | undefined, more: Partial<CommandFacts> = {}): CommandFacts => ({
  ...{ uid: "u", hasSpec: true, marker: undefined, markerEtag: undefined, state: ended, code },
  ...more,
});
const retry: Change = { kind: "retry" };

describe("a retry by other code than computed the run", () => {
  it("is refused, with both codes and the command that computes another run", () => {
    expect(() => decideCommand("r", retry, facts("sum@2"))).toThrow(
      /^run r was computed by sum 1; the instances have sum 2 now\. Start instances with sum 1, or compute it as another run: leasefold submit sum … --reuse r --accept-code$/,
    );
  });

  it("is refused without a word for a shell that a forged spec chose", () => {
    const state = { ...ended, code: "$(id)@1" };
    expect(() => decideCommand("r", retry, facts("sum@2", { state }))).toThrow(
      /leasefold submit CALCULATION … --reuse/,
    );
  });

  it("is accepted if the code is the same or unknown", () => {
    for (const code of ["sum@1", undefined])
      expect(decideCommand("r", retry, facts(code))).toMatchObject({ kind: "write" });
  });
});

it("a retry of a run whose inputs have changed is refused, with the command that computes another run", () => {
  const state: State = {
    ...ended,
    error: { code: "inputs-changed", message: "chunk 1: data/a was changed" },
  };
  expect(() => decideCommand("r", retry, facts("sum@1", { state }))).toThrow(
    /^run r failed because its inputs have changed \(chunk 1: data\/a was changed\); compute it as another run: leasefold submit sum … --reuse r$/,
  );
});

it("a retry of a run whose plan is lost is refused, with the command that computes another run", () => {
  const state: State = { ...ended, error: { code: "plan-lost", message: "plan.json is gone" } };
  expect(() => decideCommand("r", retry, facts("sum@1", { state }))).toThrow(
    /^run r failed because its plan is gone \(plan.json is gone\); compute it as another run: leasefold submit sum …$/,
  );
});
