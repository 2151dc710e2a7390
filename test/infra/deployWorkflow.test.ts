import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const workflow = readFileSync(join(root, ".github/workflows/deploy.yml"), "utf8");

/** The script of a step, by a line of it that no other step has. */
function scriptOf(line: string): string {
  const blocks = [...workflow.matchAll(/ {8}run: \|\n((?: {10}.*\n|\n)+)/g)].map(([, body = ""]) => body);
  const found = blocks.find((body) => body.includes(line));
  if (found === undefined) throw new Error(`no step has ${line}`);
  return found.replace(/^ {10}/gm, "");
}

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "leasefold-workflow-"));
  cpSync(join(root, "infra"), join(folder, "infra"), { recursive: true });
  program("sleep", "exit 0");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Stands for a program of the runner. */
function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/bash\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** Runs a step as the runner does, and returns how it ended and what it wrote. */
function ran(script: string, env: Readonly<Record<string, string>> = {}) {
  const output = join(folder, "output");
  writeFileSync(output, "");
  const { status, stdout } = spawnSync("bash", ["-e", "-c", script], {
    cwd: folder,
    encoding: "utf8",
    env: {
      ...{ ...process.env, GITHUB_OUTPUT: output, GROUP: "g", APP: "a", HOST: "h", GITHUB_SHA: "new" },
      ...{ PARAMETERS: "infra/main.bicepparam", GITHUB_EVENT_NAME: "push", ...env },
      PATH: `${folder}${delimiter}${process.env["PATH"]}`,
    },
  });
  return { status, stdout, output: readFileSync(output, "utf8") };
}

describe.skipIf(process.platform !== "linux")("the deployment workflow", () => {
  const ask = () => ran(scriptOf("cat > ask.sh"));
  const wait = () => ran(scriptOf('= "$GITHUB_SHA" ] &&'));
  /** An app whose answers are these, one after the other, the last for good; `jq` gives their commit. */
  const app = (...commits: string[]) => {
    writeFileSync(join(folder, "answers"), commits.map((one) => `${one}\n`).join(""));
    program("az", "echo key");
    program("curl", "cat");
    program("jq", 'head -n 1 answers; [ "$(wc -l < answers)" = 1 ] || sed -i 1d answers');
  };

  test("waits until the app answers with the commit, whatever version the old code has", () => {
    app("old", "old", "old", "new");
    expect(ask().output).toBe("commit=old\n");
    expect(wait()).toMatchObject({ status: 0, stdout: expect.stringContaining("h runs new") });
    app("old");
    expect(wait()).toMatchObject({ status: 1, stdout: expect.stringContaining("h answers old, not new") });
  });

  test("has the platform read the functions of the new commit, until it has", () => {
    const rests = (...commits: string[]) => {
      app(...commits);
      ask();
      writeFileSync(join(folder, "rests"), "");
      program(
        "az",
        '[ "$1" = rest ] || { echo key; exit; }; echo "$@" >> rests; [ "$(wc -l < rests)" -gt 2 ]',
      );
      return { ...wait(), calls: readFileSync(join(folder, "rests"), "utf8").trim().split("\n") };
    };
    const { status, calls } = rests("new");
    expect([status, calls.length]).toEqual([0, 3]);
    expect(calls[0]).toMatch(
      /--method post .*resourceGroups\/g\/.*sites\/a\/host\/default\/sync\?api-version=/,
    );
    expect(rests("old", "old", "old", "old", "new").calls).toHaveLength(4);
  });

  test("publishes to an app that has no key yet", () => {
    app("none");
    program("az", "exit 1");
    expect(ask()).toMatchObject({ status: 0, output: "commit=none\n" });
  });

  test("deploys templates that were not the last to be deployed with success, and others only by hand", () => {
    const script = scriptOf("az deployment group create");
    program("jq", "echo []");
    const calls = (last: string, event = "push") => {
      writeFileSync(join(folder, "calls"), "");
      program("az", `echo "$@" >> calls; case "$3" in list) echo "${last}" ;; *) echo '{}' ;; esac`);
      const { status } = ran(script, { GITHUB_EVENT_NAME: event });
      expect(status).toBe(0);
      return readFileSync(join(folder, "calls"), "utf8");
    };
    const name =
      /group create .*--name (leasefold-[0-9a-f]{12})/.exec(calls("leasefold-000000000000 Succeeded"))?.[1] ??
      "";
    expect(name).not.toBe("");
    expect(calls(`${name} Succeeded`)).not.toContain("group create");
    expect(calls(`${name} Failed`)).toContain("group create");
    expect(calls(`${name} Succeeded`, "workflow_dispatch")).toContain("group create");
    writeFileSync(join(folder, "infra/main.bicep"), "// other\n");
    expect(calls(`${name} Succeeded`)).toContain("group create");
  });
});
