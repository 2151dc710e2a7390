/** The kinds of errors that a program tells apart; `code` says which one it is. */
export type ErrorKind =
  | "invalid"
  | "denied"
  | "unknown"
  | "conflict"
  | "busy"
  | "failed"
  | "no-answer"
  | "corrupt";

/** A problem that the API answered, or what stands for one: no answer at all, and bytes that are not the result's, have status 0. */
export class ApiError extends Error {
  readonly status: number;
  /** Stable, such as `unknown-run`; `no-answer` without an answer. */
  readonly code: string;
  /** The one field of the request that is wrong. */
  readonly field: string | undefined;
  readonly retryAfterS: number | undefined;
  constructor(
    message: string,
    of: { status: number; code: string; field?: string | undefined; retryAfterS?: number | undefined },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "ApiError";
    this.status = of.status;
    this.code = of.code;
    this.field = of.field;
    this.retryAfterS = of.retryAfterS;
  }

  get kind(): ErrorKind {
    if (this.status === 0) return this.code === "no-answer" ? this.code : "corrupt";
    if (this.status >= 500) return this.status > 501 ? "busy" : "failed";
    return (
      ({ 401: "denied", 403: "denied", 404: "unknown", 409: "conflict" } as const)[this.status] ?? "invalid"
    );
  }
}

interface Asked {
  readonly method?: "GET" | "HEAD" | "POST" | "PATCH" | "DELETE";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly bytes?: Blob | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** The answer, also 304; throws `ApiError` for any other that is no success, and the reason of the signal. */
export type Ask = (path: string, asked?: Asked) => Promise<Response>;

export interface AskOptions {
  /** Of the API, such as `https://app.azurewebsites.net/api/`; paths are relative to it. */
  readonly url: string;
  readonly fetch: typeof fetch;
  /** What proves who asks. */
  readonly proof: () => Record<string, string> | Promise<Record<string, string>>;
  /** Called with each answer and the proof of its request. */
  readonly heard?: (answer: Response, proof: Readonly<Record<string, string>>) => void;
}

/**
 * The address of a path below the API. Throws `ApiError` for a name that is empty, that an address resolves away, or that
 * has a slash: it would be the path of another route.
 */
export function addressOf(path: string, base: string): URL {
  const [names = ""] = path.split("?");
  const odd = names.split("/").find((name) => /^\.{0,2}$|%2f/i.test(name));
  if (odd !== undefined) {
    throw new ApiError(`${decodeURIComponent(odd) || '""'} is no name`, { status: 404, code: "bad-name" });
  }
  return new URL(path, base);
}

/** Requests to one API: the proof goes into a header, and cookies and referrers nowhere. */
export const asker =
  ({ url, fetch: send, proof, heard }: AskOptions): Ask =>
  async (path, { method = "GET", body, bytes, headers, signal } = {}) => {
    const address = addressOf(path, url);
    const proven = await proof();
    const answer = await send(address, {
      method,
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "error",
      headers: {
        ...proven,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(bytes && { "content-type": "application/octet-stream" }),
        ...headers,
      },
      ...(body === undefined ? bytes && { body: bytes } : { body: JSON.stringify(body) }),
      ...(signal == null ? {} : { signal }),
    }).catch((error: unknown) => {
      throw signal?.aborted ? error : noAnswer(error);
    });
    heard?.(answer, proven);
    if (answer.ok || answer.status === 304) return answer;
    throw await errorOf(answer);
  };

/** Asks for JSON. */
export const jsonBy =
  (ask: Ask) =>
  async <T>(...asked: Parameters<Ask>): Promise<T> =>
    (await (await ask(...asked)).json()) as T;

export const noAnswer = (cause?: unknown): ApiError =>
  new ApiError("no answer: the app or the network is down", { status: 0, code: "no-answer" }, { cause });

export async function errorOf(answer: Response): Promise<ApiError> {
  const text = await answer.text().catch(() => "");
  const { detail, code, field } = parsed(text);
  const retryAfterS = Number(answer.headers.get("retry-after") ?? Number.NaN);
  const { status } = answer;
  const plain = status === 401 ? "the key was refused" : `the app answered with status ${status}`;
  return new ApiError(typeof detail === "string" ? detail : plain, {
    status,
    code: typeof code === "string" ? code : `http-${status}`,
    field: typeof field === "string" ? field : undefined,
    retryAfterS: Number.isFinite(retryAfterS) ? retryAfterS : undefined,
  });
}

function parsed(text: string): {
  readonly detail?: unknown;
  readonly code?: unknown;
  readonly field?: unknown;
} {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

const triesMax = 6;
const mayPass = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status === 503);

/** Tries again after no answer and after 503, with longer pauses. */
export async function persist<T>(
  work: () => Promise<T>,
  { signal, tries = triesMax }: { readonly signal?: AbortSignal | undefined; readonly tries?: number } = {},
): Promise<T> {
  for (let failed = 1; ; failed += 1) {
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error) || error.kind === "corrupt" || failed >= tries) throw error;
      const pauseMs = (error.retryAfterS ?? Math.min(2 ** (failed - 1) / 4, 8)) * 1_000;
      await pause(pauseMs, signal);
    }
  }
}

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    function done(): void {
      signal?.removeEventListener("abort", stop);
      resolve();
    }
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
