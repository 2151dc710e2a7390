import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startInstances } from "../../packages/cli/local/instances.ts";
import { builtProgram, until } from "../support/builtProgram.ts";

/** "Changing a calculation" of docs/OPERATIONS.md, with the built program on this machine. */
const root = join(import.meta.dirname, "../..");
const { folder, leasefold, startUp, down } = builtProgram();

afterEach(down);

/** Each chunk gives `gives`; those from `breaksFrom` on throw. The unit is in a file of its own. */
async function writeCalculation(name: string, gives: number, breaksFrom = 1_000_000): Promise<void> {
  await writeFile(join(folder(), "unit.mjs"), `export const unit = ${gives};\n`);
  await writeFile(
    join(folder(), name),
    `import { defineCalculation, z } from "leasefold";
    import { unit } from "./unit.mjs";
    export default defineCalculation({
      name: "units", summary: "adds units",
      params: z.strictObject({ n: z.coerce.number().int().default(40) }),
      plan: ({ n }) => n,
      compute({ index }) { if (index >= ${breaksFrom}) throw new Error("not yet"); return unit; },
      merge: (a, b) => a + b,
      zero: () => 0,
    });`,
  );
}

/** Starting a process takes a good part of a second of a core. */
const eachStartsAProcess = { everyMs: 1_000 };

const statusOf = async (run: string) => JSON.parse((await leasefold("status", run, "--json")).out);

test("a file that is changed while up runs is refused by submit, and loaded anew by up --watch", async () => {
  await writeCalculation("units.mjs", 1);
  await startUp("--instances", "1", "--calculation", "units.mjs");
  expect((await leasefold("submit", "units", "--id", "first", "--wait")).out).toContain("40");
  await writeCalculation("units.mjs", 10);
  const newer = await leasefold("submit", "units");
  expect(newer).toMatchObject({ code: 2, out: "" });
  expect(newer.err).toMatch(/the file is newer than what the instances run.*--watch/s);
  const other = await leasefold("submit", "./units.mjs");
  expect(other).toMatchObject({ code: 2, out: "" });
  expect(other.err).toMatch(
    /the instances run another version: units [0-9a-f]{12} there, units [0-9a-f]{12} here/,
  );
  await down();

  const { out } = await startUp("--instances", "2", "--watch", "--calculation", "units.mjs");
  await writeCalculation("units.mjs", 100);
  await until("both have loaded it", async () => (out().match(/is ready/g) ?? []).length >= 2);
  expect((await leasefold("submit", "units", "--wait")).out).toContain("4000");
});

test("a retry after a restart with changed code is refused, and the run that it names takes the partials of both and says so", async () => {
  const args = ["--instances", "1", "--data", "kept", "--calculation", "units.mjs"];
  await writeCalculation("units.mjs", 1, 39);
  await startUp(...args);
  const options = ["--pack-size", "1", "--attempts", "1", "--tolerate", "1", "--wait"];
  await leasefold("submit", "units", "--id", "old", ...options);
  const { code: before } = await statusOf("old");
  await down();

  await writeCalculation("units.mjs", 10);
  await startUp(...args);
  const refused = await leasefold("retry", "old");
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toMatch(
    /was computed by units [0-9a-f]{12}; the instances have units [0-9a-f]{12} now.*leasefold submit units … --reuse old --accept-code/s,
  );
  const other = await leasefold("submit", "units", "--reuse", "old");
  expect(other.err).toMatch(/invalid --reuse: run old was computed by units [0-9a-f]{12}, .*--accept-code/);
  const accepted = ["--id", "new", "--reuse", "old", "--accept-code", "--wait"];
  expect((await leasefold("submit", "units", ...accepted)).out).toContain("49");
  const { code, result } = await statusOf("new");
  expect(result).toMatchObject({ mixed: true, code: [before, code].sort() });
  expect(JSON.parse((await leasefold("result", "new", "--manifest")).out)).toMatchObject({ mixed: true });
  expect((await leasefold("status", "new")).out).toMatch(/mixed +units [0-9a-f]{12}, units [0-9a-f]{12}/);
});

// Whoever takes a message of other code puts it back for some seconds, and may be the next to take it, too.
test("of two instances with different files only the one with the run's code computes, and without it the status says what the run waits for", async () => {
  await writeCalculation("units.mjs", 1);
  const { local } = await startUp("--instances", "1", "--calculation", "units.mjs");
  await mkdir(join(folder(), "other"));
  await writeFile(join(folder(), "other", "unit.mjs"), "export const unit = 10;\n");
  await copyFile(join(folder(), "units.mjs"), join(folder(), "other", "units.mjs"));
  const others = await startInstances({
    count: 1,
    appDir: root,
    storage: { DataStorage: local.connectionString },
    instanceEntry: join(root, "dist", "instance.cjs"),
    env: () => ({
      LEASEFOLD_CALCULATIONS: join(folder(), "other", "units.mjs"),
      LEASEFOLD_SCHEDULE: "*/2 * * * * *",
      LEASEFOLD_NAMESPACE: local.namespace,
      // As often as `up` does: what polls more often takes most messages, and here it refuses them.
      AzureFunctionsJobHost__extensions__queues__maxPollingInterval: "00:00:02",
      LEASEFOLD_INSTANCE: "other",
    }),
  });
  try {
    const both = await leasefold("submit", "units", "--id", "both", "--pack-size", "8", "--wait");
    expect(both.out).toContain("40");
    expect(await statusOf("both")).toMatchObject({
      result: { code: [expect.stringMatching(/^units@sha256:/)] },
    });

    const pid = local.instances[0]?.pid as number;
    process.kill(pid, "SIGSTOP");
    try {
      expect((await leasefold("submit", "./units.mjs", "--id", "waits")).out).toContain("waits");
      const { otherCode: refused } = await until(
        "it says what it waits for",
        async () => {
          const view = await statusOf("waits");
          return view.otherCode === undefined ? undefined : view;
        },
        eachStartsAProcess,
      );
      expect(refused.theirs).not.toContain(refused.needed);
      expect((await leasefold("status", "waits")).out).toMatch(
        /waiting +no instance has units [0-9a-f]{12};\s+they\s+have\s+units/,
      );
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await until(
      "the right one goes on",
      async () => (await statusOf("waits")).word === "complete",
      eachStartsAProcess,
    );
    expect((await leasefold("result", "waits")).out).toContain("40");
  } finally {
    await others.stopAll();
  }
});
