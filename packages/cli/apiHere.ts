import { apiFunctions } from "../../src/app/api/apiFunctions.ts";
import type { ApiPorts } from "../../src/app/api/apiRequest.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { describeCalculations } from "../../src/engine/client/describeCalculations.ts";
import { planWithin } from "../../src/engine/client/estimate/planInThread.ts";
import { type PlanWorkers, planWorkers } from "../../src/engine/client/estimate/planWorkers.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { readSettings, version } from "../../src/engine/model/settings.ts";
import { clientOf, type Leasefold } from "../client/leasefoldClient.ts";
import { addressOf, errorOf } from "../client/request.ts";
import type { Session } from "./cli.ts";
import { clientFiles } from "./connect.ts";
import { checked } from "./instanceApi.ts";

/** The API in this process over the storage that a command uses, as programs use it. */
export const apiOf = async (session: Session): Promise<Leasefold> =>
  apiHere(portsOf(session, await session.client()));

/** What the app gives its handlers, with the calculations of this process alone. */
export function portsOf(session: Session, client: Client): ApiPorts {
  const { cli } = session;
  const { calculations } = client;
  return {
    client,
    log: () => undefined,
    // They are signed for the person who asks, and say no more than that person may read.
    resultLinks: true,
    calculations: async () => describeCalculations(calculations),
    submit: (request) => submit(client, request),
    plan: planWithin(() => ({
      calculations,
      clock: cli.clock,
      settings: readSettings(cli.env),
      planWorkers: () => workersHere(session),
      access: clientFiles(async () => client, cli.env),
      startThread: (access) => cli.startThread(access),
    })),
  };
}

/** The threads that would compute a run, where they run on this machine; else as the app counts them. */
export async function workersHere(session: Session): Promise<PlanWorkers> {
  const local = await session.instances().catch(() => undefined);
  return local?.fleet ?? (await planWorkers(readSettings(session.cli.env), () => session.client()));
}

const here = "http://127.0.0.1/api/";
const silent = { warn: () => undefined, error: () => undefined };
const facts = { version, instance: () => "leasefold", lastTickAgeMs: () => undefined, readOnly: () => false };

/** `leasefold/client` over these ports, without a socket. It throws what a route throws, and not the problem that HTTP tells of it. */
export function apiHere(ports: ApiPorts): Leasefold {
  const fail = (error: unknown): never => {
    throw error;
  };
  const functions = apiFunctions({ readOnly: () => false, ports: () => ports, fail }, facts);
  return clientOf(
    checked(async (path, { method = "GET", body, bytes, headers = {} } = {}) => {
      const url = addressOf(path, here);
      const [segment = "", ...rest] = url.pathname.slice("/api/".length).split("/").map(decodeURIComponent);
      const target = functions.find(({ route }) => route === `${segment}/{*rest}`);
      const type = bytes === undefined ? "application/json" : "application/octet-stream";
      const content = new Response(bytes ?? (body === undefined ? "" : JSON.stringify(body)));
      const answer = await target?.handle(
        {
          ...{ method, url: url.href, query: url.searchParams, params: { rest: rest.join("/") } },
          headers: new Headers({ "content-type": type, ...headers }),
          arrayBuffer: () => content.arrayBuffer(),
        },
        silent,
      );
      const { status = 404, jsonBody, body: given } = answer ?? {};
      const sent = jsonBody === undefined ? given : JSON.stringify(jsonBody);
      const response = new Response(typeof sent === "object" ? new Uint8Array(sent) : sent, {
        ...{ status, headers: answer?.headers ?? {} },
      });
      // What a route throws was thrown; a path of no route, or a method that it does not have, is only answered.
      if (response.ok || status === 304) return response;
      throw await errorOf(response);
    }),
  );
}
