import { StorageError } from "../model/errors.ts";
import type { BlobStore } from "./ports.ts";

/**
 * Refuses blob names with a segment `.` or `..` before any request: a URL drops such segments, so the call would reach
 * another blob, or one of another container. Both implementations of the port stand behind this.
 */
export function plainNames(store: BlobStore): BlobStore {
  return {
    ...store,
    create: (container, name, body, write) => refusalOf(name) ?? store.create(container, name, body, write),
    replace: (container, name, body, write) => refusalOf(name) ?? store.replace(container, name, body, write),
    upload: (container, name, body, write) => refusalOf(name) ?? store.upload(container, name, body, write),
    read: (container, name, options) => refusalOf(name) ?? store.read(container, name, options),
    stream: (container, name, options) => refusalOf(name) ?? store.stream(container, name, options),
    head: (container, name, options) => refusalOf(name) ?? store.head(container, name, options),
    setMetadata: (container, name, metadata, options) =>
      refusalOf(name) ?? store.setMetadata(container, name, metadata, options),
    remove: (container, name, options) => refusalOf(name) ?? store.remove(container, name, options),
    removeMany: (container, names, options) =>
      refusalOf(...names) ?? store.removeMany(container, names, options),
  };
}

/** Throws where a blob of this name is to be leased. */
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
  const shown = JSON.stringify(name.slice(0, 80));
  const message = `blob name ${shown}: no segment may be "." or ".."`;
  return new StorageError("refused", "InvalidResourceName", 400, message);
};
