import { expect, test } from "vitest";
import { workers } from "../../../../src/engine/client/inspection/workers.ts";
import { heartbeatBlobs } from "../../../../src/engine/model/names.ts";
import { clientWorld, names } from "../../../../test/client/clientWorld.ts";
import { heartbeatWork, putHeartbeat } from "../../../../test/support/heartbeatProcess.ts";
import { endMarks, markEnded } from "../../local/markEnded.ts";

async function heartbeats() {
  const { client, storage } = await clientWorld();
  return {
    ...{ client, blobs: storage.blobs },
    mark: (how: string) => markEnded(storage.blobs, names.coordination, "node-1", how),
    told: async () => {
      const found = (await workers(client)).workers;
      return found.map(({ instance, boot, state, ended }) => [instance, boot, state, ended]);
    },
  };
}

test("the heartbeat of a process that died says at once how, and keeps what it computed", async () => {
  const { client, mark, told } = await heartbeats();
  await putHeartbeat(client, "node-1", { works: [heartbeatWork(17)] });
  await putHeartbeat(client, "node-11", { works: [heartbeatWork(18)] });
  await mark("signal SIGKILL");
  expect(await told()).toEqual([
    ["node-1", "a1b2c3d4", "ended", "signal SIGKILL"],
    ["node-11", "a1b2c3d4", "live", undefined],
  ]);
  expect((await workers(client)).workers[0]?.computes).toMatchObject([{ work: "pack 17" }]);
});

test("an earlier death of the instance keeps its own words", async () => {
  const { client, mark, told } = await heartbeats();
  await putHeartbeat(client, "node-1.first", { ended: "exit code 3" });
  await putHeartbeat(client, "node-1.second");
  await mark("out of memory");
  expect((await told()).sort()).toEqual([
    ["node-1", "first", "ended", "exit code 3"],
    ["node-1", "second", "ended", "out of memory"],
  ]);
});

test("a heartbeat that the last call of the process writes meanwhile is marked all the same", async () => {
  const { client, blobs, mark, told } = await heartbeats();
  await putHeartbeat(client, "node-1");
  const list = blobs.list;
  let listed = 0;
  Object.assign(blobs, {
    async list(...given: Parameters<typeof list>) {
      const page = await list(...given);
      const [own] = page.blobs;
      listed += 1;
      if (listed === 1 && own !== undefined)
        await blobs.setMetadata(names.coordination, own.name, own.metadata, { ifMatch: own.etag });
      return page;
    },
  });
  await mark("exit code 1");
  expect(await told()).toEqual([["node-1", "a1b2c3d4", "ended", "exit code 1"]]);
});

test("a planned stop has left no heartbeat, and a heartbeat that cannot be read harms nothing", async () => {
  const { client, blobs, mark, told } = await heartbeats();
  await mark("exit code 0");
  expect(await told()).toEqual([]);
  await blobs.create(names.coordination, `${heartbeatBlobs}node-1.x`, "", { metadata: { v: "9" } });
  await putHeartbeat(client, "node-1.y");
  await mark("exit code 0");
  expect(await told()).toEqual([["node-1", "y", "ended", "exit code 0"]]);
});

test("messages whose invocations failed with a process come back after their time", async () => {
  const { client, storage } = await clientWorld();
  const { queues } = storage;
  await queues.ensureQueue(names.packs);
  for (const text of ["failed", "other"]) await queues.send(names.packs, text);
  const held = await queues.receive(names.packs, { max: 2, visibilityS: 600 });
  const failed = held
    .filter(({ text }) => text === "failed")
    .map(({ id, popReceipt: receipt }) => ({ queue: names.packs, id, receipt }));
  const marks = endMarks(storage, names.coordination);
  marks.ended("node-1", "exit code 3", failed, 0);
  await marks.settled();
  expect((await client.storage.queues.peek(names.packs, 32)).map(({ text }) => text)).toEqual(["failed"]);
});
