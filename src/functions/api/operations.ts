import type { HttpResponseInit } from "@azure/functions";
import { describeCalculations } from "../../client/describeCalculations.ts";
import { failures } from "../../client/failures.ts";
import { leader } from "../../client/leader.ts";
import { parseSample, verify } from "../../client/questions/verify.ts";
import { queues } from "../../client/queues.ts";
import { type ApiHandler, fresh, queryWhole, routeParam } from "./apiRequest.ts";

/** What this instance can compute, with the parameters of each: the CLI learns of the user's own from here. */
export const getCalculations: ApiHandler = async (_request, client) =>
  fresh({ calculations: describeCalculations(client.calculations) });

const shownMax = 10_000;

/** The failure records of a run, and what failed and is still tried; `?max=` for more or fewer than a thousand. */
export const getFailures: ApiHandler = async (request, client) => {
  const max = queryWhole(request, "max", shownMax);
  return fresh(await failures(client, routeParam(request, "id"), max === undefined ? {} : { max }));
};

export const getLeader: ApiHandler = async (_request, client) => fresh(await leader(client));

export const getQueues: ApiHandler = async (_request, client) => fresh({ queues: await queues(client) });

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

/** Azure's front end ends a request after 230 s; what has no answer by then is reported so. */
const requestMsMax = 200_000;
const waitSMax = 200;

/**
 * Computes a sample of a finished run's packs again (`?sample=1%25` or `?sample=20`) and answers, after all have been
 * computed, how they compare; `allEqual` says it in one word. Larger samples are for the CLI, which may wait longer.
 */
export const verifyRun: ApiHandler = async (request, client) => {
  const sample = request.query.get("sample");
  const waitS = queryWhole(request, "wait", waitSMax);
  const found = await verify(client, routeParam(request, "id"), {
    ...(sample === null ? {} : { sample: parseSample(sample) }),
    ...(waitS === undefined ? {} : { waitMs: waitS * 1_000 }),
    signal: AbortSignal.timeout(requestMsMax),
  });
  return fresh(found);
};
