import { StorageError } from "../../src/engine/model/errors.ts";
import type { Clock, Storage } from "../../src/engine/storage/ports.ts";
import { abortError } from "../../src/engine/storage/system.ts";
import type { Carry } from "./network.ts";

/** One call of a process to storage, as the network may judge it. */
export interface FarCall {
  /** `blobs.create`, `queues.send`, `lease.renew` and so on. */
  readonly op: string;
  readonly args: readonly unknown[];
}

/** The adapters end a request after a minute; its effect is unknown then. */
const requestCapMs = 60_000;

/**
 * Puts a network between one simulated process and the in-memory storage. Signals stay on this side, as with the real
 * service: to abort a request does not call it back, and it may take effect long after its caller gave up.
 */
export function farStorage(near: Storage, clock: Clock, carry: Carry<FarCall>): Storage {
  const far = <T extends object>(target: T, part: string): T =>
    new Proxy(target, {
      get(object, key) {
        const member = Reflect.get(object, key) as unknown;
        if (typeof member !== "function") return member;
        const op = `${part}.${String(key)}`;
        return (...args: unknown[]) => {
          const sent = args.map(withoutSignal);
          const call = () => (member as (...all: unknown[]) => Promise<unknown>).apply(object, sent);
          return capped(clock, signalIn(args), () => carry({ op, args: sent }, call));
        };
      },
    });
  return {
    blobs: far(near.blobs, "blobs"),
    queues: far(near.queues, "queues"),
    lease: (container, blob) => far(near.lease(container, blob), "lease"),
    meter: near.meter,
  };
}

function capped<T>(clock: Clock, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal.reason));
    const end = (): void => {
      takeBack();
      signal?.removeEventListener("abort", abort);
    };
    const abort = (): void => {
      end();
      reject(abortError(signal?.reason));
    };
    const takeBack = clock.after(requestCapMs, () => {
      end();
      reject(new StorageError("busy", "", undefined, "no answer within a minute"));
    });
    signal?.addEventListener("abort", abort);
    call().then(
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
}

const hasSignal = (value: unknown): value is { readonly signal?: AbortSignal } =>
  value !== null && typeof value === "object" && "signal" in value;

const signalIn = (args: readonly unknown[]): AbortSignal | undefined => args.find(hasSignal)?.signal;

function withoutSignal(value: unknown): unknown {
  if (!hasSignal(value)) return value;
  const { signal: _signal, ...rest } = value;
  return rest;
}
