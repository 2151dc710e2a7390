import type { KeyStore } from "./key.ts";

/** A problem document of the API, or what stands for one: no answer at all has status 0. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly retryAfterS: number | undefined;
  constructor(
    message: string,
    of: { status: number; code: string; field?: string | undefined; retryAfterS?: number | undefined },
  ) {
    super(message);
    this.status = of.status;
    this.code = of.code;
    this.field = of.field;
    this.retryAfterS = of.retryAfterS;
  }
}

export interface Asked {
  readonly method?: "GET" | "HEAD" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export type Api = ReturnType<typeof connect>;

/** Requests to the API that served the page: the key goes into a header, and cookies and referrers nowhere. */
export function connect(key: KeyStore, base: string, send: typeof fetch, now: () => number) {
  let clockOffsetMs = 0;
  /** The answer, also 304; throws `ApiError` for any other that is no success. */
  const ask = async (
    path: string,
    { method = "GET", body, headers, signal }: Asked = {},
  ): Promise<Response> => {
    const used = key.key;
    const answer = await send(new URL(path, base), {
      method,
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      headers: {
        ...(used === undefined ? {} : { "x-functions-key": used }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw noAnswer();
    });
    const date = Date.parse(answer.headers.get("date") ?? "");
    if (Number.isFinite(date)) clockOffsetMs = date - now();
    if (answer.ok || answer.status === 304) return answer;
    const error = await errorOf(answer);
    // A key that was replaced meanwhile must not take the new one with it.
    if (answer.status === 401 && used === key.key) key.refuse();
    throw error;
  };
  return {
    ask,
    /** Sends a file and tells how much of it is sent, which `fetch` does not. The answer is JSON; throws as `ask`. */
    upload: <T>(path: string, file: Blob, options: Uploading): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.open("POST", new URL(path, base));
        if (key.key !== undefined) request.setRequestHeader("x-functions-key", key.key);
        request.setRequestHeader("content-type", "application/octet-stream");
        request.upload.onprogress = ({ loaded }) => options.onBytes(Math.min(loaded, file.size));
        request.onload = () => {
          if (request.status < 300) return resolve(JSON.parse(request.responseText) as T);
          errorOf(new Response(request.responseText, { status: request.status })).then(reject, reject);
        };
        request.onerror = () => reject(noAnswer());
        options.signal.addEventListener("abort", () => request.abort());
        request.send(file);
      }),
    json: async <T>(path: string, asked?: Asked) => (await (await ask(path, asked)).json()) as T,
    /** The service's time minus this machine's, by the `Date` of the last answer. */
    get clockOffsetMs() {
      return clockOffsetMs;
    },
  };
}

interface Uploading {
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
}

const noAnswer = () =>
  new ApiError("no answer: the app or the network is down", { status: 0, code: "no-answer" });

async function errorOf(answer: Response): Promise<ApiError> {
  const text = await answer.text().catch(() => "");
  const problem = parsed(text);
  const retryAfterS = Number(answer.headers.get("retry-after") ?? Number.NaN);
  const plain =
    answer.status === 401 ? "the key was refused" : `the app answered with status ${answer.status}`;
  return new ApiError(typeof problem["detail"] === "string" ? problem["detail"] : plain, {
    status: answer.status,
    code: typeof problem["code"] === "string" ? problem["code"] : `http-${answer.status}`,
    field: typeof problem["field"] === "string" ? problem["field"] : undefined,
    retryAfterS: Number.isFinite(retryAfterS) ? retryAfterS : undefined,
  });
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** What a person reads about anything thrown. */
export const textOfError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
