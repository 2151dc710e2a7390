import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { builtProgram } from "../support/builtProgram.ts";

/** What a calculation finds in its environment is the same whatever command computes it, in TypeScript and as a program. */
const { folder, leasefold, startUp, down } = builtProgram({
  ...{ TOKEN: "of-mine", QUOTES_URL: "https://quotes.test", SHELL: "/bin/sh", LANG: "C.UTF-8" },
  ...{ IDENTITY_HEADER: "of-the-app", MSI_SECRET: "of-the-app", LEASEFOLD_ENV: "QUOTES_URL" },
});
const named = ["LEASEFOLD_ENV", "QUOTES_URL", "TOKEN"];
const always = ["PATH", "HOME", "USERPROFILE", "SystemRoot", "TMPDIR", "TEMP", "TMP", "TZ", "LANG", "LC_ALL"];
const ofNode = ["NODE_ENV", "NODE_OPTIONS"];
const ofCommands = ["OMP_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONPATH", "OWN"];

beforeEach(async () => {
  await writeFile(
    join(folder(), "finds.mjs"),
    `import { env } from "node:process"; import { z } from "leasefold";
     const atLoad = Object.keys(env).sort().join();
     export default { name: "finds", summary: "a test", params: z.strictObject({}), plan: () => 1,
       compute() { const names = Object.keys(process.env).sort().join(); console.log("FOUND", names); return names === atLoad ? names : "differs: " + atLoad; },
       merge: (a) => a, zero: () => "" };`,
  );
  await writeFile(
    join(folder(), "asks.mjs"),
    `import { defineCommandCalculation, z } from "leasefold";
     export default defineCommandCalculation({ name: "asks", summary: "a test", params: z.strictObject({}),
       command: [process.execPath, "program.mjs"], folder: import.meta.dirname, files: ["program.mjs"], env: { OWN: "1" } });`,
  );
  await writeFile(
    join(folder(), "program.mjs"),
    `import { createInterface } from "node:readline";
     const names = Object.keys(process.env).sort().join();
     const say = (said) => console.log(JSON.stringify(said));
     say({ leasefold: 1, calls: ["plan", "compute", "merge", "zero"] });
     for await (const line of createInterface({ input: process.stdin })) {
       const { id, call } = JSON.parse(line);
       if (call === "compute") console.error("FOUND", names);
       say({ id, value: call === "plan" ? 1 : names });
     }`,
  );
});

const sorted = (names: string): readonly string[] => names.split(",").sort();
const printedIn = (text: string): string => /FOUND (\S+)/.exec(text)?.[1] ?? "";

test.each([
  ["finds", []],
  ["asks", ofCommands],
])(
  "%s finds the same variables by try, check, plan and up: those that it needs, and those that were named",
  async (name, more) => {
    const file = `./${name}.mjs`;
    const tried = await leasefold("try", file, "--env", "TOKEN", "--json");
    expect(tried, tried.err).toMatchObject({ code: 0 });
    const byTry = sorted(JSON.parse(tried.out).partial);
    expect(byTry).toEqual(expect.arrayContaining([...named, "PATH", "TMPDIR", "LANG", ...more]));
    const allowed: readonly string[] = [...named, ...always, ...ofNode, ...more];
    expect(byTry.filter((one) => !allowed.includes(one))).toEqual([]);

    for (const command of ["check", "plan"]) {
      const { code, err } = await leasefold(command, file, "--env", "TOKEN");
      expect({ command, code, found: sorted(printedIn(err)) }, err).toEqual({
        command,
        code: 0,
        found: byTry,
      });
    }

    await startUp("--instances", "1", "--calculation", file, "--env", "TOKEN");
    const { code, out, err } = await leasefold("submit", name, "--wait");
    expect({ code, found: sorted(JSON.parse(out || '""')) }, err).toEqual({ code: 0, found: byTry });
    await down();
  },
);

test.each([
  ["DataStorage", "use names of variables, none of which begins with DataStorage"],
  ["NOT_THERE", "there is no such variable here"],
])("--env %s is refused before anything runs", async (variable, why) => {
  for (const command of ["try", "check", "plan"]) {
    const { code, out, err } = await leasefold(command, "./finds.mjs", "--env", variable);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(new RegExp(`^leasefold: invalid --env: ${variable}: ${why}.*\n$`));
  }
});
