import { StorageError } from "../../../src/engine/model/errors.ts";
import type { BlobStore, Clock, LeaseStore } from "../../../src/engine/storage/ports.ts";
import type { CallName, Carry } from "../../support/network.ts";
import { recordIn } from "../../support/recordIn.ts";
import type { StopWorkOracle } from "./stopWorkOracle.ts";

/** What one process has asked of the lease, for the checkers. */
export interface LeaseLog {
  /** Ids with which an acquire was sent in the race that runs. */
  readonly acquires: Set<string>;
  /** Ids for which a release was tried. */
  readonly releases: Set<string>;
  /** A release leaves. */
  onRelease(leaseId: string): void;
}

/**
 * The lease port of one process over its network. Signals stay here: aborting a request does not call it back.
 * An answer that comes after its caller gave up counts for nothing, neither there nor with the oracle.
 */
export function leaseOver(
  carry: Carry,
  lease: LeaseStore,
  oracle: StopWorkOracle,
  log: LeaseLog,
): LeaseStore {
  const told = async <T>(answer: Promise<T>, confirm: () => void, signal?: AbortSignal): Promise<T> => {
    const value = await answer;
    if (signal?.aborted !== true) confirm();
    return value;
  };
  return {
    ensure: () => carry("ensure", () => lease.ensure()),
    view: () => carry("view", () => lease.view()),
    acquire: (leaseId, durationS, options) => {
      log.acquires.add(leaseId);
      const confirm = oracle.sends({ leaseId, kind: "lease" });
      const given = conditionOf(options);
      return told(
        carry("acquire", () => lease.acquire(leaseId, durationS, given)),
        confirm,
        options?.signal,
      );
    },
    renew: (leaseId, options) => {
      const confirm = oracle.sends({ leaseId, kind: "lease" });
      return told(
        carry("renew", () => lease.renew(leaseId)),
        confirm,
        options?.signal,
      );
    },
    release: (leaseId) => {
      log.releases.add(leaseId);
      log.onRelease(leaseId);
      return carry("release", () => lease.release(leaseId));
    },
    breakNow: (options) => {
      const given = conditionOf(options);
      return carry("breakNow", () => lease.breakNow(given));
    },
    writeRecord: (leaseId, metadata, options) => {
      const { state, termid, breakAfterMs } = recordIn(metadata);
      const leading = state === "leading" ? { termid, breakAfterMs } : undefined;
      const confirm = oracle.sends({ leaseId, kind: "record", leading });
      const given = conditionOf(options);
      return told(
        carry(`write ${state}`, () => lease.writeRecord(leaseId, metadata, given)),
        confirm,
        options?.signal,
      );
    },
  };
}

const conditionOf = (options?: { readonly ifMatch?: string }) =>
  options?.ifMatch === undefined ? {} : { ifMatch: options.ifMatch };

/** As much of the blob port as the fenced state needs, with a cap of its own as the adapters have one. */
export function stateBlobsOver(carry: Carry, blobs: BlobStore, clock: Clock): BlobStore {
  const capped = <T>(name: CallName, call: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
    new Promise((resolve, reject) => {
      const cut = (): void => {
        takeBack();
        signal?.removeEventListener("abort", cut);
        reject(new StorageError("busy", "", undefined, "No answer in time."));
      };
      const takeBack = clock.after(2_000, cut);
      signal?.addEventListener("abort", cut, { once: true });
      const end = (): void => {
        takeBack();
        signal?.removeEventListener("abort", cut);
      };
      carry(name, call).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  return {
    ...blobs,
    create: (container, name, body, write) =>
      capped("write state", () => blobs.create(container, name, body), write?.signal),
    replace: (container, name, body, write) =>
      capped(
        "write state",
        () => blobs.replace(container, name, body, { ifMatch: write.ifMatch }),
        write.signal,
      ),
    read: (container, name, options) =>
      capped("read state", () => blobs.read(container, name), options?.signal),
  };
}
