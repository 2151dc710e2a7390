import { leader } from "../../client/leader.ts";
import { type ApiHandler, fresh } from "./apiRequest.ts";

export const getLeader: ApiHandler = async (_request, client) => fresh(await leader(client));
