import type { HttpResponseInit } from "@azure/functions";
import { fresh } from "./apiRequest.ts";

/** What an instance knows of itself. */
export interface InstanceFacts {
  readonly version: string;
  readonly instance: string;
  /** Since this instance last ticked, by its own clock; undefined before its first tick. */
  lastTickAgeMs(): number | undefined;
}

/** Anonymous, so it says that an instance answers and nothing else: a version tells which flaws are worth a try. */
export const getHealth = (): HttpResponseInit => fresh({ ok: true });

/** With a key. Asks nothing of storage: it answers also while storage is away. */
export function getInstance({ version, instance, lastTickAgeMs }: InstanceFacts): HttpResponseInit {
  const ageMs = lastTickAgeMs();
  return fresh({
    version,
    instance,
    ...(ageMs === undefined ? {} : { lastTickAgeS: Math.round(ageMs) / 1000 }),
  });
}
