import type { Storage } from "../../src/engine/storage/ports.ts";

/** A process that ends; no code of ours handles it. */
export class Crash extends Error {}

const writes = new Set([
  "ensureContainer",
  "create",
  "replace",
  "setMetadata",
  "remove",
  "ensureQueue",
  "send",
]);

/**
 * The same account for a process that dies right after its n-th write (0: right after the first), whose reply it
 * never sees. `counted()` tells how many writes there were.
 */
export function crashingStorage(storage: Storage, after: number): { storage: Storage; counted(): number } {
  let counted = 0;
  const wrap = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, key) => {
        const member = Reflect.get(target, key);
        if (typeof member !== "function" || !writes.has(String(key))) return member;
        return async (...args: unknown[]) => {
          const answer = await member.apply(target, args);
          counted += 1;
          if (counted > after) throw new Crash(`after ${String(key)}`);
          return answer;
        };
      },
    });
  const wrapped = { ...storage, blobs: wrap(storage.blobs), queues: wrap(storage.queues) };
  return { storage: wrapped, counted: () => counted };
}
