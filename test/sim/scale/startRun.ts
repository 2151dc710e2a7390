import { encodeMarker } from "../../../src/engine/model/marker.ts";
import { encodeWake } from "../../../src/engine/model/message.ts";
import type { Names } from "../../../src/engine/model/names.ts";
import { specBlob } from "../../../src/engine/model/runBlobs.ts";
import type { Storage } from "../../../src/engine/storage/ports.ts";
import { specOf } from "../../support/runFixtures.ts";

export const runId = "r";
export const runUid = "u1";

/** Makes an installation's containers and queues. */
export async function makePlaces({ blobs, queues }: Storage, names: Names): Promise<void> {
  for (const container of [names.coordination, names.active, names.runs, names.results])
    await blobs.ensureContainer(container);
  for (const queue of [names.packs, names.urgent, names.wake]) await queues.ensureQueue(queue);
}

/** What a submit leaves behind: spec, marker and two wakes. */
export async function startRun(
  { blobs, queues }: Storage,
  names: Names,
  run: {
    readonly chunks: number;
    readonly packSize: number;
    readonly cap: number;
    readonly workers?: number;
  },
  id = runId,
): Promise<void> {
  const params = { chunks: run.chunks };
  const { packSize, workers } = run;
  const spec = specOf({
    ...{ run: id, uid: runUid, calculation: "ranges", params, packSize },
    ...(workers && { workers }),
  });
  const marker = { uid: runUid, want: "run", generation: 1, cap: run.cap, turn: 0, command: 0 } as const;
  await blobs.create(names.runs, specBlob(id), JSON.stringify(spec));
  await blobs.create(names.active, id, "", { metadata: encodeMarker(marker) });
  await queues.send(names.wake, encodeWake("client"));
  await queues.send(names.wake, encodeWake("client"), { visibleInS: 5 });
}
