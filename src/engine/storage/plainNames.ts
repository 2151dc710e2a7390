import { StorageError } from "../model/errors.ts";
import type { BlobStore } from "./ports.ts";

/**
 * Refuses blob names with a segment `.` or `..` before any request: a URL drops such segments, so the call would reach
 * another blob, or one of another container. Both implementations of the port are wrapped in this.
 */
export function plainNames(store: BlobStore): BlobStore {
  return {
    ...store,
    create: (...call) => refusalOf(call[1]) ?? store.create(...call),
    replace: (...call) => refusalOf(call[1]) ?? store.replace(...call),
    upload: (...call) => refusalOf(call[1]) ?? store.upload(...call),
    read: (...call) => refusalOf(call[1]) ?? store.read(...call),
    stream: (...call) => refusalOf(call[1]) ?? store.stream(...call),
    head: (...call) => refusalOf(call[1]) ?? store.head(...call),
    setMetadata: (...call) => refusalOf(call[1]) ?? store.setMetadata(...call),
    remove: (...call) => refusalOf(call[1]) ?? store.remove(...call),
    removeMany: (...call) => refusalOf(...call[1]) ?? store.removeMany(...call),
  };
}

/** Throws where a blob with a segment `.` or `..` is to be leased. */
export function checkPlainName(name: string): void {
  if (!isPlain(name)) throw refusal(name);
}

function refusalOf(...names: readonly string[]): Promise<never> | undefined {
  const bad = names.find((name) => !isPlain(name));
  return bad === undefined ? undefined : Promise.reject(refusal(bad));
}

const isPlain = (name: string): boolean =>
  !name.includes(".") || name.split("/").every((segment) => segment !== "." && segment !== "..");

const refusal = (name: string): StorageError => {
  const message = `blob name ${JSON.stringify(name.slice(0, 80))}: no segment may be "." or ".."`;
  return new StorageError("refused", "InvalidResourceName", 400, message);
};
