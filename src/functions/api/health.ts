import type { HttpResponseInit } from "@azure/functions";
import { fresh } from "./apiRequest.ts";

/** What an instance may tell anyone about itself. */
export interface Health {
  readonly version: string;
  readonly instance: string;
  /** Since this instance last ticked, by its own clock; undefined before its first tick. */
  lastTickAgeMs(): number | undefined;
}

/** Anonymous, and asks nothing of storage: it tells that this instance answers, never who leads or what runs. */
export function getHealth(health: Health): HttpResponseInit {
  const ageMs = health.lastTickAgeMs();
  return fresh({
    ok: true,
    version: health.version,
    instance: health.instance,
    ...(ageMs === undefined ? {} : { lastTickAgeS: Math.round(ageMs) / 1000 }),
  });
}
