import { app } from "@azure/functions";
import type { ApiHost } from "../api/answer.ts";
import { apiFunctions } from "../api/apiFunctions.ts";
import type { InstanceFacts } from "../api/route.ts";
import { withLogOf } from "./logTo.ts";

/** Registers the functions of the API. Nothing is asked of settings or storage before the first request. */
export function registerApi(host: ApiHost, facts: InstanceFacts): void {
  for (const { name, methods, route, anonymous, handle } of apiFunctions(host, facts)) {
    app.http(name, {
      methods: [...methods],
      route,
      authLevel: anonymous ? "anonymous" : "function",
      handler: (request, context) => withLogOf(context, () => handle(request, context)),
    });
  }
}
