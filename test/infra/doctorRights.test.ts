import { describe, expect, test } from "vitest";
import { type Asker, askers } from "../../packages/cli/doctor/checkRoles.ts";
import { diagnose } from "../../packages/cli/doctor/diagnose.ts";
import { clientWorld } from "../client/clientWorld.ts";
import { type Grant, grantedStorage, grantsOf } from "./grants.ts";

/** What doctor says of the roles, to somebody with these grants. */
async function rolesOf(grants: readonly Grant[], as?: Asker) {
  const { world, storage, clientOn } = await clientWorld();
  const connect = async () => clientOn(grantedStorage(storage, grants));
  const findings = await world.finish(
    diagnose({ env: {}, ofApp: false, hostJson: undefined, storage: { namedBy: "a test", connect }, as }),
  );
  const wrong = findings.filter(({ state }) => state === "wrong");
  return { wrong, texts: findings.filter(({ check }) => check === "roles").map(({ what }) => what) };
}

const kinds = { app: "an app", steer: "an operator who steers", read: "an operator who reads" };

describe("doctor on a correct deployment", () => {
  test.each(askers)("finds nothing wrong for %s and tells who asks", async (who) => {
    const { wrong, texts } = await rolesOf(grantsOf(who));
    expect(wrong).toEqual([]);
    expect(texts[0]).toContain(`judged as ${kinds[who]}: this identity has the`);
  });

  test("reports the rights of others as skipped, and sending as what cannot be tried", async () => {
    const { texts } = await rolesOf(grantsOf("steer"));
    expect(texts[1]).toMatch(/so not by rights of others \(\d+\); --as/);
    expect(texts[2]).toContain("sending to the queues urgent and wake");
  });

  test("judges another where it is told to", async () => {
    const { wrong } = await rolesOf(grantsOf("read"), "steer");
    expect(wrong.map(({ what }) => what)).toEqual([
      "this identity may not write the container test-active",
      "this identity may not write the container test-inputs",
    ]);
    expect(wrong[0]?.cure).toContain('"operators", access "steer"');
  });
});

// The roles of reading are on the whole account, so one of them covers every container or queue.
describe.each(askers)("doctor, asked as %s", (who) => {
  test("names each role that is missing, where the app or the commands need it", async () => {
    const grants = grantsOf(who);
    const silent: string[] = [];
    for (const gone of grants) {
      const { wrong } = await rolesOf(
        grants.filter((one) => one !== gone),
        who,
      );
      const place = gone.scope.split("/").at(-1) ?? "";
      const named = wrong.some(({ what, why }) => {
        const whole = !/\/(containers|queues)\//.test(gone.scope);
        return (whole || what.includes(place)) && (why?.includes(`"${gone.role}"`) || what.includes("read"));
      });
      if (!named) silent.push(`${gone.role} on ${place}`);
    }
    const untold = [
      "Storage Blob Data Contributor on test-runs",
      "Storage Queue Data Message Sender on test-urgent",
      "Storage Queue Data Message Sender on test-wake",
    ];
    expect(silent).toEqual(who === "steer" ? untold : []);
  });
});

test("a role that takes messages and does not update them is not enough for an app", async () => {
  const grants = grantsOf("app").map((one) => {
    const lesser = ["Storage Queue Data Message Processor", "Storage Queue Data Reader"];
    return one.role === "Storage Queue Data Contributor" ? lesser.map((role) => ({ ...one, role })) : [one];
  });
  const { wrong } = await rolesOf(grants.flat());
  expect(wrong).toHaveLength(6);
  expect(wrong[0]).toMatchObject({ why: expect.stringContaining('"Storage Queue Data Contributor"') });
});
