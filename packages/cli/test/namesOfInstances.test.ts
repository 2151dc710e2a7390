import { describe, expect, it } from "vitest";
import { StorageError } from "../../../src/engine/model/errors.ts";
import type { Estimate } from "../../client/apiTypes.ts";
import type { InstanceApi } from "../api.ts";
import { cliWorld, instancesOf } from "./cliWorld.ts";

const row = { name: "to", type: "integer", description: "" };
const mine = { name: "mine", summary: "", params: [row], schema: {}, code: "mine@sha256:3f2a8b1c9d0e" };

const api = (change: Partial<InstanceApi> = {}) => ({
  instances: instancesOf({ calculations: async () => [mine], ...change }),
});
const silent = () =>
  Promise.reject(new StorageError("busy", "", undefined, "no instance answers (node-1: fetch failed)"));

describe("a calculation that only the running instances know", () => {
  it("is planned by them, with parameters of the types that they tell", async () => {
    const here = await cliWorld();
    const estimate = JSON.parse((await here.run("plan sum --to 5 --json")).out) as Estimate;
    const requests: unknown[] = [];
    const { run } = await cliWorld(
      api({
        async plan(request) {
          requests.push(request);
          return { ...estimate, calculation: "mine" };
        },
      }),
    );
    const { exitCode, out } = await run("plan mine --to 1e2 --workers 7");
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^mine \{"to":5,.*\}\n {2}chunks +5, /);
    expect(requests).toEqual([{ calculation: "mine", params: { to: 100 }, workers: 7 }]);
  });

  it.each(["plan", "submit"])("%s refuses it if its file has changed since they loaded it", async (verb) => {
    const { run } = await cliWorld(api({ calculations: async () => [{ ...mine, changed: true }] }));
    expect(await run(`${verb} mine --to 5`)).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("newer than what the instances run"),
    });
  });
});

describe("a name that nobody knows", () => {
  it.each([
    [2, {}, "no instances run here that it could ask"],
    [2, api(), "the instances know mine"],
    [2, api({ calculations: async () => [] }), "the instances know no other"],
    [
      4,
      api({ calculations: silent }),
      "the instances do not answer: no instance answers (node-1: fetch failed)",
    ],
  ])("plan, submit and calculations say who was asked and what to do: %#", async (code, change, asked) => {
    const { run } = await cliWorld(change);
    for (const verb of ["plan", "submit", "calculations"]) {
      const { exitCode, out, err } = await run(`${verb} other`);
      expect([exitCode, out, err.split("\n").length]).toEqual([code, "", 2]);
      expect(err).toContain(`there is no calculation "other": this command knows sum; ${asked}. For one`);
      expect(err).toContain(
        `give its file, such as ./other.ts, or "leasefold up --${asked.startsWith("no") ? "calculation" : "add"} ./other.ts"`,
      );
    }
  });
});
