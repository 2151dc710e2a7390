import { describeCalculations } from "../../client/describeCalculations.ts";
import { type ApiHandler, fresh } from "./apiRequest.ts";

/** What this instance can compute, with the parameters of each: the CLI learns of the user's own from here. */
export const getCalculations: ApiHandler = async (_request, client) =>
  fresh({ calculations: describeCalculations(client.calculations) });
