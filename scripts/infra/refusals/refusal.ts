import { at, type Fields, isFields, type Resource, type Value } from "../evaluate/values.ts";

/**
 * What Azure has refused although the published types allow it: each row is a rule of its own in `infra:check`, and has a
 * planted mistake in `test/infra/refusalPlants.ts`. `seen` are the threads in which somebody was refused.
 *
 * Not promised: that it is all that Azure refuses. A row is added when somebody has met it.
 */
export interface Refusal {
  readonly rule: `refused-${string}`;
  readonly by: "ARM" | "Entra" | "host";
  readonly code: string;
  /** `Azure/azure-cli#31414`, each an issue or a pull request on github.com. */
  readonly seen: readonly [string, ...string[]];
  /** The type that it is about. */
  readonly on: string;
  /** What is wrong with a resource, and the text of its template to point at. */
  readonly wrong: (one: Resource, around: Around) => readonly Wrong[];
}

interface Around {
  /** All that the same deployment makes. */
  readonly all: readonly Resource[];
  readonly given: Fields;
  /** What DEPLOY says. */
  readonly page: string;
}

type Wrong = readonly [says: string, about: string];

/** Writes to one parent that Azure takes only one after the other: a loop of them needs `@batchSize(1)`. */
export interface Race {
  readonly rule: `refused-${string}`;
  readonly by: "ARM";
  readonly code: string;
  readonly seen: readonly [string, ...string[]];
  readonly on: string;
}

export const prop = ({ body }: Resource, ...path: string[]) => at(body, "properties", ...path);
export const keysOf = (value: Value | undefined): string[] => (isFields(value) ? Object.keys(value) : []);
export const itemsOf = (value: Value | undefined): readonly Value[] => (Array.isArray(value) ? value : []);
export const not = (holds: boolean, says: string, about: string): Wrong[] => (holds ? [] : [[says, about]]);
