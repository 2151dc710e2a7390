import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import type { StorageError } from "../../src/engine/model/errors.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { systemClock } from "../../src/engine/storage/system.ts";
import { virtualWorld } from "../support/virtualClock.ts";

/** A storage account under the contract, with a meter of its own. */
export interface Account {
  readonly storage: Storage;
  /** Lets time pass: in earnest on a real service, at once on in-memory storage. */
  wait(ms: number): Promise<void>;
}

export type OpenAccount = () => Account;

/** An account of its own for each call, with a clock of its own. */
export function memoryAccount(): Account {
  const world = virtualWorld();
  return {
    storage: memoryStorage({ clock: world.clock(), random: world.random }),
    wait: (ms) => world.advance(ms),
  };
}

export const realAccount = (connectionString: string): Account => ({
  storage: connectStorage({ connectionString }),
  wait: (ms) => systemClock.sleep(ms),
});

/** A name for a container or queue that no other test uses. */
export const freshName = (): string => `t-${randomUUID()}`;

/** A container that is there. */
export async function freshContainer({ storage }: Account): Promise<string> {
  const container = freshName();
  await storage.blobs.ensureContainer(container);
  return container;
}

/** A queue that is there. */
export async function freshQueue({ storage }: Account): Promise<string> {
  const queue = freshName();
  await storage.queues.ensureQueue(queue);
  return queue;
}

/** What a refused call must throw. */
export const refusal = (storageCode: string, status: number) =>
  expect.objectContaining({ kind: "refused", storageCode, status } satisfies Partial<StorageError>);

export const textOf = (body: Uint8Array): string => new TextDecoder().decode(body);

export async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return new Uint8Array(Buffer.concat(pieces));
}

/** The outcome of a union by its kind, or a failed test. */
export function ofKind<T extends { readonly kind: string }, K extends T["kind"]>(
  value: T,
  kind: K,
): Extract<T, { readonly kind: K }> {
  expect(value.kind).toBe(kind);
  return value as Extract<T, { readonly kind: K }>;
}
