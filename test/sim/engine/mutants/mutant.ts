import type { Mutation } from "../../code/mutation.ts";
import type { Checker } from "../checks/judge.ts";
import type { EngineCase } from "../engineCase.ts";

/** A rule of the protocol (docs/ARCHITECTURE.md), broken in the code under test, often in one place and at times in two. */
export interface Mutant {
  /** What is missing. */
  readonly without: string;
  /** The name of the rule. */
  readonly rule: string;
  readonly killedBy: Checker;
  /** Where to look first: scenarios by name, points, or the first of a row of seeds. */
  readonly cases: readonly EngineCase[] | { readonly seedsFrom: number };
  readonly edits: readonly Mutation[];
}

/** One change of one function, constant or class of the engine. */
export const edit = (where: string, find: string, replace: string): readonly Mutation[] => [
  { in: where, find, replace },
];
