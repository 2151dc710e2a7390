import * as z from "zod";
import { failures } from "../client/failures.ts";
import { parseSample, verify } from "../client/questions/verify.ts";
import { type ApiAnswer, type ApiHandler, fresh, queryWhole, readBody, routeParam } from "./apiRequest.ts";

const shownMax = 10_000;

/** The failure records of a run, and failures that are still retried; `?max=` for more or fewer than a thousand. */
export const getFailures: ApiHandler = async (request, client) => {
  const max = queryWhole(request, "max", shownMax);
  return fresh(await failures(client, routeParam(request, "id"), max === undefined ? {} : { max }));
};

const planSchema = z.strictObject({
  calculation: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
  packSize: z.number().optional(),
  workers: z.number().optional(),
});

/** Size, duration and cost estimate of a run, before anything is paid. Stores nothing. */
export const planRun: ApiHandler = async (request, _client, { plan }) =>
  fresh(await plan(await readBody(request, planSchema)));

/** What an instance knows about itself. */
export interface InstanceFacts {
  readonly version: string;
  readonly instance: string;
  /** Time since this instance last ticked, by its own clock; undefined before its first tick. */
  lastTickAgeMs(): number | undefined;
  /** Whether every request but a read is refused. */
  readOnly(): boolean;
}

/** Anonymous, so it reveals nothing else: a version would tell attackers which flaws to try. */
export const getHealth = (): ApiAnswer => fresh({ ok: true });

/** Makes no storage call, so it answers while storage is unavailable. */
export function getInstance({ version, instance, lastTickAgeMs, readOnly }: InstanceFacts): ApiAnswer {
  const ageMs = lastTickAgeMs();
  return fresh({
    version,
    instance,
    readOnly: readOnly(),
    ...(ageMs === undefined ? {} : { lastTickAgeS: Math.round(ageMs) / 1000 }),
  });
}

/** Azure's front end ends a request after 230 s; packs without an answer by then are reported as such. */
const waitSMax = 200;

/**
 * Recomputes a sample of a finished run's packs (`?sample=1%25` or `?sample=20`) and answers how they compare; `allEqual`
 * sums it up. Larger samples are for the CLI, which can wait longer.
 */
export const verifyRun: ApiHandler = async (request, client) => {
  const sample = request.query.get("sample");
  const waitS = queryWhole(request, "wait", waitSMax);
  const found = await verify(client, routeParam(request, "id"), {
    ...(sample === null ? {} : { sample: parseSample(sample) }),
    ...(waitS === undefined ? {} : { waitMs: waitS * 1_000 }),
    signal: AbortSignal.timeout(waitSMax * 1_000),
  });
  return fresh(found);
};
