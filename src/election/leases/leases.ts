import { InputError } from "../../engine/model/errors.ts";
import { namedLeaseBlob } from "../../engine/model/names.ts";
import {
  defaultHolder,
  type ElectionLocation,
  type ElectionPorts,
  openElection,
} from "../api/electionPorts.ts";
import { quietly } from "../raceContext.ts";
import { type LeasesSettings, type LeaseTimings, leasesSettings } from "../settings.ts";
import { type Content, contentOf } from "./contents.ts";
import {
  type AcquireAttempt,
  acquireNamed,
  holdNamed,
  type LeaseEnd,
  type NamedLease,
} from "./namedLease.ts";
import { type Renewal, type RenewalStats, renewals } from "./renewals.ts";

/** Runs calls concurrently, at most `limit` at a time, in the order they came. */
function atMost(limit: number): <T>(call: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (call) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await call();
    } finally {
      // The slot goes to the next call in line, or is free again.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/**
 * Many named leases in one process, renewed by one scheduler. A lease is a blob `leases/{name}` in the container
 * `{namespace}-coordination`; its holder may replace its content and anybody may read it.
 *
 * Not promised: that only one process believes it holds a lease; no lease can promise that. Storage refuses writes
 * through `update` once another holds the lease. Any other effect needs `assertHeld()` right before it, and stays
 * unsafe in a process that is stopped between the two.
 */
export interface Leases {
  /**
   * Acquires the lease if it is free. `wait`: polls (each `pollEveryMs`) until it is, outages included, or the signal
   * fires. Without `wait` an outage throws `StorageError`; a refused identity always does.
   */
  acquire(
    name: string,
    options?: { readonly wait?: boolean; readonly signal?: AbortSignal },
  ): Promise<AcquireOutcome>;
  /** The content as anybody may read it; `undefined` where there is no such lease yet. */
  read(name: string): Promise<Content | undefined>;
  /** The leases that this process holds, by name. */
  readonly held: ReadonlyMap<string, NamedLease>;
  stats(): RenewalStats;
  /** Ends all waiting, fires the signals of all held leases and releases them. Never rejects. */
  close(): Promise<void>;
}

export type AcquireOutcome =
  | { readonly kind: "acquired"; readonly lease: NamedLease }
  /** By another process or by this one. */
  | { readonly kind: "heldByOther" }
  | { readonly kind: "stopped" };

export type LeaseEvent =
  | { readonly kind: "acquired"; readonly name: string }
  /** `code`: storage's error code, or `""` where nothing was confirmed in time. */
  | {
      readonly kind: "lost";
      readonly name: string;
      readonly cause: Exclude<LeaseEnd, "released">;
      readonly code: string;
    }
  | { readonly kind: "released"; readonly name: string; readonly confirmed: boolean };

export interface LeasesOptions
  extends ElectionLocation,
    Partial<LeaseTimings & Pick<LeasesSettings, "callsAtOnce" | "contentCapMs">> {
  /** Kept beside the content with each update. Default: host name and process id. */
  readonly holder?: string;
  readonly on?: (event: LeaseEvent) => void;
}

export function leases(options: LeasesOptions): Leases {
  const { connection: _, ...own } = options;
  return leasesOn(openElection(options), own);
}

export function leasesOn(ports: ElectionPorts, options: Omit<LeasesOptions, "connection">): Leases {
  const { namespace: _, holder = defaultHolder(), on, ...timings } = options;
  const settings = leasesSettings(timings);
  const { clock, random } = ports;
  const scheduler = renewals(clock, { ...settings, atOnce: settings.callsAtOnce });
  const calls = atMost(settings.callsAtOnce);
  const held = new Map<string, NamedLease>();
  const acquiring = new Set<string>();
  const closing = new AbortController();

  const emit = (event: LeaseEvent): void => quietly(() => on?.(event));

  const tryOnce = async (
    name: string,
    blobName: string,
    stopping: AbortSignal,
  ): Promise<NamedLease | Exclude<AcquireAttempt, { readonly kind: "acquired" }>> => {
    const parts = { name, blob: ports.lease(blobName), clock, random, holder, settings };
    const acquired = await calls(() => acquireNamed(parts, stopping));
    if (acquired.kind !== "acquired") return acquired;
    let renewal: Renewal | undefined;
    const { lease, renew } = holdNamed(parts, acquired, {
      onEnd(cause, code) {
        held.delete(name);
        if (renewal !== undefined) scheduler.remove(renewal);
        if (cause !== "released") emit({ kind: "lost", name, cause, code });
      },
      onRelease: (confirmed) => emit({ kind: "released", name, confirmed }),
    });
    renewal = renew;
    held.set(name, lease);
    scheduler.add(renewal);
    emit({ kind: "acquired", name });
    return lease;
  };

  return {
    held,
    stats: scheduler.stats,
    async acquire(name, { wait = false, signal } = {}) {
      const blobName = namedLeaseBlob(name);
      if (closing.signal.aborted)
        throw new InputError("conflict", "leases-closed", "These leases are closed.");
      const stopping = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]);
      for (;;) {
        if (stopping.aborted) return { kind: "stopped" };
        if (!held.has(name) && !acquiring.has(name)) {
          acquiring.add(name);
          const tried = await tryOnce(name, blobName, stopping).finally(() => acquiring.delete(name));
          if ("release" in tried) return { kind: "acquired", lease: tried };
          if (tried.kind === "stopped") return tried;
          if (tried.kind === "failed" && (tried.definite || !wait)) throw tried.error;
        }
        if (!wait) return { kind: "heldByOther" };
        await clock.sleep(settings.pollEveryMs * (0.9 + 0.2 * random.number()), stopping);
      }
    },
    async read(name) {
      const seen = await ports.lease(namedLeaseBlob(name)).readContent();
      return seen.kind === "missing" ? undefined : contentOf(seen.body, seen.etag);
    },
    async close() {
      closing.abort();
      await Promise.all([...held.values()].map((lease) => calls(() => lease.release())));
    },
  };
}
