import { asker } from "../../client/request.ts";

/**
 * Where the function key is: in memory, and in `sessionStorage` only if the person asked for it. Never in an address. It is empty where
 * the app asks for none.
 */
export type KeyStore = ReturnType<typeof keyStore>;

const name = "leasefold-key";

type Tab = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export function keyStore(tab: Tab) {
  const listeners = new Set<() => void>();
  let key = tab.getItem(name) ?? undefined;
  let kept = key !== undefined;
  let refused = false;
  const change = (next: string | undefined, keep: boolean, wasRefused: boolean): void => {
    key = next;
    kept = keep;
    refused = wasRefused;
    if (keep && next !== undefined) tab.setItem(name, next);
    else tab.removeItem(name);
    for (const listener of listeners) listener();
  };
  return {
    get key(): string | undefined {
      return key;
    },
    get kept() {
      return kept;
    },
    /** The last key was answered with 401. */
    get refused() {
      return refused;
    },
    set: (next: string, keep: boolean) => change(next, keep, false),
    // Several requests of one moment are refused together.
    refuse: () => key !== undefined && change(undefined, false, key !== ""),
    forget: () => change(undefined, false, false),
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const keyHeader = "x-functions-key";

/** Whether the API that served the page answers without a key, as under Core Tools. */
export async function opensWithoutKey(url: string, send: typeof fetch): Promise<boolean> {
  try {
    return (await send(new URL("instance", url))).ok;
  } catch {
    return false;
  }
}

/** Requests to the API that served the page, with the key of the page. */
export function asksWith(key: KeyStore, url: string, send: typeof fetch, nowMs: () => number) {
  let clockOffsetMs = 0;
  const ask = asker({
    ...{ url, fetch: send },
    proof: () => (key.key ? { [keyHeader]: key.key } : {}),
    heard({ status, headers }, used) {
      const date = Date.parse(headers.get("date") ?? "");
      if (Number.isFinite(date)) clockOffsetMs = date - nowMs();
      // A key that was replaced meanwhile must not take the new one with it.
      if (status === 401 && (used[keyHeader] ?? "") === key.key) key.refuse();
    },
  });
  /** The offset: the service's time minus this machine's, by the `Date` of the last answer. */
  return { ask, clockOffsetMs: () => clockOffsetMs };
}
