import { limits } from "../model/limits.ts";
import { type WorkMessage, workOf } from "../model/message.ts";
import { runBlobs } from "../model/names.ts";
import { persist } from "./persist.ts";
import type { WorkerPorts } from "./ports.ts";

/**
 * The note of an attempt that it has begun. A note that is left behind tells that the process died with the work, so
 * each attempt removes its own, however it ends. The first send of a pack, which is the common path, leaves none.
 * Plan, combine and finish refresh theirs while they work, so that a slow one is not taken for a dead one.
 */
export interface BeginNote {
  /** Called when user code is about to begin; any call after the first does nothing. */
  begin(): Promise<void>;
  remove(): Promise<void>;
}

export function beginNote(ports: WorkerPorts, message: WorkMessage, tag: string): BeginNote {
  const { blobs } = ports.storage;
  const { runs } = ports.names;
  const work = workOf(message);
  if (work === undefined) return { begin: async () => {}, remove: async () => {} };
  const name = runBlobs(message.run, message.uid).begun(work, message.gen, message.send, tag);
  const ended = new AbortController();
  let begun = false;
  let written = false;
  let etag: string | undefined;
  let refreshing: Promise<void> | undefined;

  const create = async (): Promise<void> => {
    written = true;
    const created = await blobs.create(runs, name, "");
    etag = created.kind === "created" ? created.etag : ((await headEtag()) ?? etag);
  };
  const headEtag = async (): Promise<string | undefined> => {
    const found = await blobs.head(runs, name);
    return found.kind === "found" ? found.properties.etag : undefined;
  };
  const refresh = async (): Promise<void> => {
    if (etag === undefined) return create();
    const replaced = await blobs.replace(runs, name, "", { ifMatch: etag });
    etag = replaced.kind === "replaced" ? replaced.etag : await headEtag();
  };
  const keepFresh = async (): Promise<void> => {
    for (;;) {
      await ports.clock.sleep(limits.taskLifeEveryMs, ended.signal);
      if (ended.signal.aborted) return;
      // A sign of life that is missing costs a second attempt at most.
      await refresh().catch(() => {});
    }
  };

  return {
    async begin() {
      if (begun) return;
      begun = true;
      if (message.repeat === true) await persist(ports, create);
      if (work.kind !== "pack") refreshing = keepFresh();
    },
    async remove() {
      ended.abort();
      await refreshing;
      if (written) await persist(ports, () => blobs.remove(runs, name)).catch(() => {});
    },
  };
}
