import { parseSample } from "../../client/questions/sample.ts";
import { verify } from "../../client/questions/verify.ts";
import { type ApiHandler, fresh, queryWhole, routeParam } from "./apiRequest.ts";

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
