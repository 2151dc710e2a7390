import type {
  Commanded,
  Durations,
  Failures,
  Logs,
  Manifest,
  PackMap,
  ResultLink,
  Run as RunView,
  Timeline,
  Verification,
} from "./apiTypes.ts";
import { type DownloadOptions, download, type Result } from "./download.ts";
import { ApiError, type Ask, jsonBy, persist } from "./request.ts";

/** A run by its id. Nothing is asked for before a method is called. */
export type Run = ReturnType<typeof runOf>;

interface Waiting {
  /** Ends the waiting, and never the run: its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

interface LogsGiven {
  readonly chunk?: number | undefined;
  readonly max?: number | undefined;
  readonly since?: string | undefined;
}

/** The answer over what is done. */
export interface SoFar {
  readonly contentType: string;
  /** False but for a run that has its result. */
  readonly complete: boolean;
  /** How many chunks it covers, and of how many: `123/1000`; undefined of a result. */
  readonly chunks: string | undefined;
  /** Ranges of the chunks that it covers, such as `0-99,200-222`; undefined of a result. */
  readonly covers: string | undefined;
  readonly body: Uint8Array<ArrayBuffer>;
}

export function query(given: object): string {
  const pairs = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}

export function runOf(ask: Ask, id: string) {
  const path = `runs/${encodeURIComponent(id)}`;
  const json = jsonBy(ask);
  const get = <T>(what: string, given: object = {}) =>
    persist(() => json<T>(`${path}/${what}${query(given)}`));
  const patch = (body: object) => json<Commanded>(path, { method: "PATCH", body });
  const status = ({ signal }: Waiting = {}) => persist(() => json<RunView>(path, { signal }), { signal });

  /** Views of the run: the first at once, then one where anything has changed, at least each `everyS`; the last has ended. */
  async function* watch({
    signal,
    everyS = 5,
  }: Waiting & { readonly everyS?: number } = {}): AsyncGenerator<RunView> {
    let etag: string | undefined;
    for (;;) {
      const asked = etag === undefined ? path : `${path}${query({ wait: everyS })}`;
      const headers = etag === undefined ? {} : { "if-none-match": etag };
      const answer = await persist(() => ask(asked, { headers, signal }), {
        signal,
        tries: Number.POSITIVE_INFINITY,
      });
      if (answer.status === 304) continue;
      etag = answer.headers.get("etag") ?? etag;
      const view = (await answer.json()) as RunView;
      yield view;
      if (!view.active) return;
    }
  }

  return {
    id,
    status,
    watch,
    /** Waits for the result and opens it. Throws `ApiError` with `run-failed` or `run-cancelled` if there is none. */
    async result({
      generation,
      ...options
    }: DownloadOptions & { readonly generation?: number } = {}): Promise<Result> {
      const open = () => download(ask, `${path}/result${query({ generation })}`, options);
      try {
        return await open();
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== "not-finished") throw error;
        for await (const _ of watch(options));
        return await open();
      }
    },
    /** A link that reads the result from storage without a key, for 15 minutes. Throws `ApiError` with `links-off` by default. */
    resultLink: (given: { readonly generation?: number | undefined } = {}) =>
      get<ResultLink>("result/link", given),
    /** Waits for a worker, at most `wait` seconds. Throws `ApiError` with `nothing-yet` or `no-answer`. */
    async soFar({ wait, signal }: Waiting & { readonly wait?: number } = {}): Promise<SoFar> {
      const answer = await ask(`${path}/result${query({ soFar: true, wait })}`, { signal });
      const { headers } = answer;
      return {
        contentType: headers.get("content-type") ?? "application/octet-stream",
        complete: headers.get("leasefold-complete") !== "false",
        chunks: headers.get("leasefold-chunks") ?? undefined,
        covers: headers.get("leasefold-covers") ?? undefined,
        body: new Uint8Array(await answer.arrayBuffer()),
      };
    },
    /** A file that chunks saved, by the name that a result of files lists. */
    file: (name: string, options?: DownloadOptions) =>
      download(ask, `${path}/files/${encodeURIComponent(name)}`, options),
    /** What a result was made of: hash, gaps, code, terms. */
    manifest: (given: { readonly generation?: number } = {}) => get<Manifest>("manifest", given),
    /** `inputs`: with those of failed chunks. */
    failures: (given: { readonly max?: number; readonly inputs?: boolean } = {}) =>
      get<Failures>("failures", given),
    /** What its code printed. With `since`, the `until` of an answer, what came after it. */
    logs: (given: LogsGiven = {}) => get<Logs>("logs", given),
    map: () => get<PackMap>("map"),
    durations: () => get<Durations>("durations"),
    timeline: () => get<Timeline>("timeline"),
    /** The run as one HTML file that needs no script. */
    report: async () => await (await persist(() => ask(`${path}/report`))).text(),
    /** Begins the generation after the present one, once, however often the request is repeated. */
    async retry(given: { readonly generation?: number } = {}) {
      const generation = given.generation ?? (await status()).generation + 1;
      return await persist(() => json<Commanded>(`${path}/retry`, { method: "POST", body: { generation } }));
    },
    verify: ({
      signal,
      ...given
    }: Waiting & { readonly sample?: string | number; readonly wait?: number } = {}) =>
      json<Verification>(`${path}/verify${query(given)}`, { method: "POST", signal }),
    pause: () => patch({ want: "paused" }),
    resume: () => patch({ want: "run" }),
    /** With `keep` the run finishes with what is done. */
    cancel: (given: { readonly keep?: boolean } = {}) => patch({ want: "cancelled", ...given }),
    /** Packs in flight at most, and dollars; each stays as it was where it is not given. */
    cap: (to: number | { readonly cap?: number | undefined; readonly maxCost?: number | undefined }) =>
      patch(typeof to === "number" ? { cap: to } : to),
    delete: () => json<Commanded>(path, { method: "DELETE" }),
  };
}
