import { type Asked, asker, errorOf, noAnswer } from "../../../apiClient/request.ts";
import type { KeyStore } from "./key.ts";

export type Api = ReturnType<typeof connect>;

/** Requests to the API that served the page, with the key of the page. */
export function connect(key: KeyStore, base: string, send: typeof fetch, now: () => number) {
  let clockOffsetMs = 0;
  const proof = () => (key.key === undefined ? {} : { [keyHeader]: key.key });
  const heard = ({ status, headers }: Response, used: Readonly<Record<string, string>>): void => {
    const date = Date.parse(headers.get("date") ?? "");
    if (Number.isFinite(date)) clockOffsetMs = date - now();
    // A key that was replaced meanwhile must not take the new one with it.
    if (status === 401 && used[keyHeader] === key.key) key.refuse();
  };
  const ask = asker({ url: base, fetch: send, proof, heard });
  return {
    ask,
    /** Sends a file and tells how much of it is sent, which `fetch` does not. The answer is JSON; throws as `ask`. */
    upload: <T>(path: string, file: Blob, options: Uploading): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.open("POST", new URL(path, base));
        for (const [name, value] of Object.entries(proof())) request.setRequestHeader(name, value);
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

const keyHeader = "x-functions-key";

interface Uploading {
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** What a person reads about anything thrown. */
export const textOfError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
