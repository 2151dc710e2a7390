import { describe, expect, it } from "vitest";
import {
  type Change,
  type CommandFacts,
  decideCommand,
} from "../../../src/engine/client/commands/decideCommand.ts";
import type { Manifest } from "../../../src/engine/model/run.ts";
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
const retry = (more: Omit<Extract<Change, { kind: "retry" }>, "kind"> = {}): Change => ({
  kind: "retry",
  ...more,
});
const markerOf = (change: Change, of: CommandFacts) => {
  const next = decideCommand("r", change, of);
  return next.kind === "deleting" ? undefined : next.marker;
};

describe("a retry by other code than computed the run", () => {
  it("is refused, with both codes and the choice", () => {
    expect(() => decideCommand("r", retry(), facts("sum@2"))).toThrow(
      /^run r was computed by sum 1; the instances have sum 2 now\. Retry with --recompute .* or --mix .* or start instances with sum 1$/,
    );
    expect(() => decideCommand("r", retry({ code: "sum@2" }), facts("sum@1"))).toThrow(
      /the instances have sum 2/,
    );
  });

  it.each(["recompute", "mix"] as const)("writes with %s the code that computes", (redo) => {
    expect(markerOf(retry({ redo }), facts("sum@2"))).toMatchObject({ generation: 2, redo, code: "sum@2" });
  });

  it("needs no choice if the code is the same or unknown", () => {
    for (const code of ["sum@1", undefined])
      expect(markerOf(retry(), facts(code))).not.toHaveProperty("redo");
    const old = { ...ended };
    delete old.code;
    expect(markerOf(retry(), facts("sum@2", { state: old }))).not.toHaveProperty("redo");
  });

  it("mixes only with known code, and with something that was computed", () => {
    expect(() => decideCommand("r", retry({ redo: "mix" }), facts(undefined))).toThrow(
      /the code of the instances for run r is not known here/,
    );
    const unplanned = { ...ended };
    delete unplanned.layout;
    const of = facts("sum@2", { state: unplanned });
    expect(markerOf(retry({ redo: "mix" }), of)).toMatchObject({ redo: "recompute", code: "sum@2" });
  });

  it("is refused where only changed inputs are asked for, which needs the same code", () => {
    const asked = retry({ redo: "changed-inputs" });
    expect(() => decideCommand("r", asked, facts("sum@2"))).toThrow(/was computed by sum 1/);
    const marker = markerOf(asked, facts("sum@1"));
    expect(marker).toMatchObject({ generation: 2, redo: "recompute", changed: "1", code: "sum@1" });
    expect(markerOf(asked, facts("sum@1", { marker }))).toEqual(marker);
    expect(() => decideCommand("r", retry({ redo: "recompute" }), facts("sum@1", { marker }))).toThrow(
      /run r is being retried/,
    );
    const after = { state: { ...ended, generation: 2 }, marker };
    expect(markerOf(retry(), facts("sum@1", after))).not.toHaveProperty("changed");
  });

  it("that mixes code that is the same is repeated without a second one, if it names its generation", () => {
    const asked = retry({ redo: "mix", generation: 2 });
    const marker = markerOf(asked, facts("sum@1"));
    expect(markerOf(asked, facts("sum@1", { marker }))).toEqual(marker);
    expect(() =>
      decideCommand("r", retry({ redo: "recompute", generation: 2 }), facts("sum@1", { marker })),
    ).toThrow(/run r is being retried/);
  });

  it("is accepted for a complete run only if everything is computed anew", () => {
    const complete = {
      state: { ...ended, phase: "complete" as const },
      manifest: { complete: true } as Manifest,
    };
    expect(() => decideCommand("r", retry({ redo: "mix" }), facts("sum@2", complete))).toThrow(
      /nothing to retry/,
    );
    expect(markerOf(retry({ redo: "recompute" }), facts("sum@2", complete))).toMatchObject({ generation: 2 });
  });
});
