import { expect, test } from "vitest";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { leadInMemory } from "./leadInMemory.ts";
import { ended, unmarked } from "./sweeping.ts";

/**
 * A list of what lies under a run begins with a page that is empty and not the last, as `BlobStore.list` says it may
 * ("A page may be empty and not the last"): behind it are names that the service had to pass, such as soft-deleted ones.
 */
function passNames(account: ReturnType<typeof leadInMemory>, under: string): () => number {
  const { list } = account.storage.blobs;
  let lists = 0;
  account.storage.blobs.list = async (container, prefix, options) => {
    if (!prefix.startsWith(under)) return list(container, prefix, options);
    lists += 1;
    if (options?.cursor === undefined) {
      const { dateMs } = await list(container, prefix, { ...options, pageSize: 1 });
      return { blobs: [], cursor: "passed", dateMs };
    }
    return list(container, prefix, {
      ...options,
      cursor: options.cursor === "passed" ? undefined : options.cursor,
    });
  };
  return () => lists;
}

test("a deletion passes an empty page", async () => {
  const account = leadInMemory();
  await unmarked(account, "r", ended("complete"));
  const marker = { uid: "uidr", want: "delete", generation: 1, cap: 1, turn: 0, command: 1 } as const;
  await account.storage.blobs.create(account.names.active, "r", "", { metadata: encodeMarker(marker) });
  const lists = passNames(account, "r/uidr/");
  // In-memory storage answers at once, so a loop without a pause would never let time pass: end the term after 500 lists.
  const { list } = account.storage.blobs;
  account.storage.blobs.list = async (...call) => {
    if (lists() > 500) account.end();
    return list(...call);
  };
  await account.lead(60_000);
  expect(account.storage.operator.blobNames(account.names.runs)).toEqual([]);
  expect(lists()).toBeLessThan(20);
});
