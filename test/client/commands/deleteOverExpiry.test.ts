import { expect, test } from "vitest";
import type { Client } from "../../../src/engine/client/client.ts";
import { command } from "../../../src/engine/client/commands/command.ts";
import { encodeMarker } from "../../../src/engine/model/marker.ts";
import { leadInMemory } from "../../leader/leadInMemory.ts";
import { ended, unmarked } from "../../leader/sweeping.ts";

test("a person's delete over an outdated one of the expiry is executed", async () => {
  const account = leadInMemory();
  const { storage, names, world } = account;
  // The run was retried between the expiry's judgment and its marker: that deletion is to delete nothing.
  await unmarked(account, "r", { ...ended("complete"), generation: 2 });
  const marker = { uid: "uidr", want: "delete", generation: 1, cap: 1, turn: 0, command: 1 } as const;
  await storage.blobs.create(names.active, "r", "", {
    metadata: encodeMarker({ ...marker, by: "expiry", judged: "outdated" }),
  });
  const client = { storage, names, clock: world.clock(), random: world.random } as unknown as Client;
  const given = await world.finish(command(client, "r", { kind: "delete" }));
  expect(given).toMatchObject({ kind: "delete", want: "delete" });
  await account.lead(10_000);
  expect(storage.operator.blobNames(names.runs).filter((name) => name.startsWith("r/"))).toEqual([]);
});
