import { failures } from "../../client/failures.ts";
import { type ApiHandler, fresh, queryWhole, routeParam } from "./apiRequest.ts";

const shownMax = 10_000;

/** The failure records of a run, and what failed and is still tried; `?max=` for more or fewer than a thousand. */
export const getFailures: ApiHandler = async (request, client) => {
  const max = queryWhole(request, "max", shownMax);
  return fresh(await failures(client, routeParam(request, "id"), max === undefined ? {} : { max }));
};
