import type {
  Answers,
  Calculation,
  Costs,
  Estimate,
  Leader,
  Overview,
  PlanRequest,
  Queue,
  QueueMessages,
  RunRequest,
  Runs,
  Submitted,
  Workers,
} from "./apiTypes.ts";
import { type Ask, asker, jsonBy, persist } from "./request.ts";
import { query, type Run, runOf } from "./run.ts";
import { schedulesOf } from "./schedules.ts";

/**
 * What `import … from "leasefold/client"` gives: the HTTP API for programs, in Node from 20 on and in browsers, without a
 * dependency. Types are those of the API's schemas.
 *
 * Not promised: that a command has taken effect when its call returns. The leader executes it, and `status` shows that.
 */
export type * as api from "./apiTypes.ts";
export type { DownloadOptions, Result } from "./download.ts";
export { ApiError, type ErrorKind } from "./request.ts";
export type { Run, SoFar } from "./run.ts";

/** Such as one of `@azure/identity`. */
interface Credential {
  getToken(scopes: string): Promise<{ readonly token: string } | null>;
}

export interface ConnectOptions {
  /** Of the API, as `leasefold show url` prints it: `https://app.azurewebsites.net/api`. */
  readonly url: string;
  /** A function key. */
  readonly key?: string;
  /** Entra ID in front of the app (EasyAuth): the credential, and the scope of the app. */
  readonly credential?: Credential;
  readonly scope?: string;
  readonly fetch?: typeof fetch;
}

/** Beside the calculation and its parameters; see the schema RunRequest of the API. */
export interface SubmitOptions extends Omit<RunRequest, "calculation" | "params"> {
  readonly signal?: AbortSignal;
}

export interface SubmittedRun extends Run {
  /** The answer to the submit. */
  readonly submitted: Submitted;
}

export interface RunsOptions {
  readonly phase?: "active" | "complete" | "failed" | "cancelled";
  readonly calculation?: string;
  /** Tags that a run has: `team=risk`. */
  readonly tag?: string | readonly string[];
  /** Submitted since: `yesterday`, `2026-11-23`, a time by ISO 8601, or so long ago, `30d`. */
  readonly since?: string;
  /** How the id begins. */
  readonly prefix?: string;
  /** Ended runs of one page. */
  readonly limit?: number;
  /** Of the page before. */
  readonly cursor?: string;
}

export interface CostsOptions {
  /** Of each value of this tag, too. */
  readonly by?: string | undefined;
  readonly since?: string | undefined;
  readonly tag?: string | readonly string[] | undefined;
  readonly calculation?: string | undefined;
  readonly prefix?: string | undefined;
}

/** Asks nothing yet. */
export const connect = ({ url, fetch: send = fetch, ...proofs }: ConnectOptions): Leasefold =>
  clientOf(asker({ url: url.endsWith("/") ? url : `${url}/`, fetch: send, proof: () => proofOf(proofs) }));

export type Leasefold = ReturnType<typeof clientOf>;

/** The same over requests of one's own. */
export function clientOf(ask: Ask) {
  const json = jsonBy(ask);
  const post = <T>(path: string, body: object, signal?: AbortSignal) =>
    json<T>(path, { method: "POST", body, signal });
  const get = <T>(path: string) => persist(() => json<T>(path));
  return {
    /** Submits a run. Its id is drawn here if none is given, so that a request whose answer was lost can be repeated. */
    async submit(
      calculation: string,
      params: object = {},
      options: SubmitOptions = {},
    ): Promise<SubmittedRun> {
      const { signal, id = drawnId(calculation), ...more } = options;
      const request = { calculation, params, id, ...more };
      const submitted = await persist(() => post<Submitted>("runs", request, signal), { signal });
      return { ...runOf(ask, submitted.run), submitted };
    },
    run: (id: string): Run => runOf(ask, id),
    /** Active runs, then ended ones a page at a time, newest first. */
    runs: (options: RunsOptions = {}) => get<Runs>(`runs${query(options)}`),
    /** What became of the runs since a time, `yesterday` by default, and of each calculation's runs before. */
    overview: (options: Omit<CostsOptions, "by"> = {}) => get<Overview>(`overview${query(options)}`),
    /** Size, duration and cost of a run. Stores nothing. */
    plan: (request: PlanRequest, { signal }: { readonly signal?: AbortSignal } = {}) =>
      post<Estimate>("plan", request, signal),
    calculations: async () =>
      (await get<{ readonly calculations: readonly Calculation[] }>("calculations")).calculations,
    /** What runs cost, of all and by the values of a tag: `{ by: "team", since: "30d" }`. */
    costs: (options: CostsOptions = {}) => get<Costs>(`costs${query(options)}`),
    /** Uploads one file of at most 8 MiB to `prefix/path`; the answer has the source that calculations take. */
    upload: (
      path: string,
      body: Blob | Uint8Array<ArrayBuffer>,
      { signal, ...given }: { readonly replace?: boolean; readonly signal?: AbortSignal } = {},
    ) =>
      persist(
        () =>
          json<Answers["postUploadsPrefixPath"]>(
            `uploads/${path.split("/").map(encodeURIComponent).join("/")}${query(given)}`,
            {
              method: "POST",
              bytes: body,
              signal,
            },
          ),
        { signal },
      ),
    schedules: schedulesOf(ask),
    leader: () => get<Leader>("leader"),
    workers: () => get<Workers>("workers"),
    /** The first messages of a queue, which stay in it. */
    peek: (queue: string, { n }: { readonly n?: number } = {}) =>
      get<QueueMessages>(`queues/${encodeURIComponent(queue)}${query({ n })}`),
    queues: async () => (await get<{ readonly queues: readonly Queue[] }>("queues")).queues,
  };
}

async function proofOf({
  key,
  credential,
  scope = "",
}: Omit<ConnectOptions, "url" | "fetch">): Promise<Record<string, string>> {
  const token = (await credential?.getToken(scope))?.token;
  return { ...(key && { "x-functions-key": key }), ...(token && { authorization: `Bearer ${token}` }) };
}

/** `primes-20261121-7f3k2a9c`: as the app draws it. */
function drawnId(calculation: string): string {
  const day = new Date().toISOString().slice(0, 10).replaceAll("-", "");
  const drawn = Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  );
  return `${calculation.slice(0, 40)}-${day}-${drawn.join("")}`;
}
