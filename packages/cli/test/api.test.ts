import { expect, test } from "vitest";
import { portsOf } from "../../../test/api/apiWorld.ts";
import { clientWorld, failureOf } from "../../../test/client/clientWorld.ts";
import { apiHere } from "../api.ts";

test("the API in this process takes JSON and bytes, and throws the error itself, once", async () => {
  const { client, world, storage } = await clientWorld();
  const api = apiHere(portsOf(client));
  const { submitted } = await world.finish(api.submit("sum", { to: 10 }, { id: "r1" }));
  expect(submitted).toMatchObject({ run: "r1", created: true });
  const uploaded = await world.finish(api.upload("new/a b.csv", new TextEncoder().encode("x")));
  expect(uploaded).toMatchObject({ source: "test-inputs/new/a b.csv", bytes: 1 });
  const failed = await failureOf(world.finish(api.run("none").status()));
  expect(failed).toMatchObject({ name: "InputError", reason: "unknown", code: "unknown-run" });

  const { read } = storage.meter.counts();
  const old = await failureOf(world.finish(api.run("r1").manifest()));
  expect(old).toMatchObject({ name: "NotReadyError", code: "not-finished" });
  expect(storage.meter.counts().read - read).toBeLessThan(10);
});
