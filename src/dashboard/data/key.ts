/** Where the function key is: in memory, and in `sessionStorage` only if the person asked for it. Never in an address. */
export interface KeyStore {
  readonly key: string | undefined;
  readonly kept: boolean;
  /** The last key was answered with 401. */
  readonly refused: boolean;
  set(key: string, keep: boolean): void;
  refuse(): void;
  forget(): void;
  subscribe(listener: () => void): () => void;
}

const name = "leasefold-key";

type Tab = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export function keyStore(tab: Tab): KeyStore {
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
    get key() {
      return key;
    },
    get kept() {
      return kept;
    },
    get refused() {
      return refused;
    },
    set: (next, keep) => change(next, keep, false),
    // Several requests of one moment are refused together.
    refuse: () => key !== undefined && change(undefined, false, true),
    forget: () => change(undefined, false, false),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
