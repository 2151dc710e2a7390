import type { HttpResponseInit } from "@azure/functions";
import type { Client } from "../../../src/client/client.ts";
import type { ApiRequest } from "../../../src/functions/api/apiRequest.ts";
import { answer, routes } from "../../../src/functions/api/registerApi.ts";

/** A request as the host would hand it over. */
export function apiRequest(
  path: string,
  given: {
    body?: unknown;
    headers?: Record<string, string>;
    params?: Record<string, string>;
    method?: string;
  } = {},
): ApiRequest {
  const url = new URL(path, "https://host/api/");
  const text = typeof given.body === "string" ? given.body : JSON.stringify(given.body ?? {});
  return {
    method: given.method ?? "GET",
    url: url.href,
    headers: new Headers({ "content-type": "application/json", ...given.headers }),
    params: given.params ?? {},
    query: url.searchParams,
    arrayBuffer: async () => new TextEncoder().encode(text).buffer as ArrayBuffer,
  };
}

export interface Answered extends HttpResponseInit {
  readonly status: number;
  header(name: string): string | null;
  /** What was logged while answering. */
  readonly logged: readonly string[];
}

/** Answers by the name of a route, exactly as a registered function does. */
export async function call(client: Client, name: string, request: ApiRequest): Promise<Answered> {
  const route = routes.find((one) => one.name === name);
  if (route === undefined) throw new Error(`no route ${name}`);
  const logged: string[] = [];
  const context = {
    debug: () => {},
    info: (...args: unknown[]) => void logged.push(`info ${args.join(" ")}`),
    warn: (...args: unknown[]) => void logged.push(`warn ${args.join(" ")}`),
    error: (...args: unknown[]) => void logged.push(`error ${args.join(" ")}`),
  };
  const init = await answer(route.handler, request, () => client, context);
  const headers = new Headers(init.headers);
  return { ...init, status: init.status ?? 200, header: (one) => headers.get(one), logged };
}
