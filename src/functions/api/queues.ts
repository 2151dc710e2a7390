import { queues } from "../../client/queues.ts";
import { type ApiHandler, fresh } from "./apiRequest.ts";

export const getQueues: ApiHandler = async (_request, client) => fresh({ queues: await queues(client) });
