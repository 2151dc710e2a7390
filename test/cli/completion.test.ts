import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Session } from "../../src/tools/cli/cli.ts";
import { completions, type Names } from "../../src/tools/cli/commands/completion.ts";
import { addStatus } from "../../src/tools/cli/commands/inspect.ts";
import { addSchedules } from "../../src/tools/cli/commands/schedule.ts";
import { addCancel } from "../../src/tools/cli/commands/steer.ts";
import { addSubmit } from "../../src/tools/cli/commands/submit.ts";

const names: Names = {
  runs: async () => ["primes-1", "queens-2"],
  schedules: async () => ["nightly", "hourly"],
  calculations: async () => [{ name: "primes", params: [{ name: "to" }, { name: "maxSize" }] }],
};

function program(): Command {
  const made = new Command("leasefold").option("--account <name>").option("--json");
  for (const add of [addSubmit, addStatus, addCancel, addSchedules]) add(made, {} as Session);
  return made;
}

describe("completion", () => {
  it.each([
    ["", ["submit", "status", "cancel", "schedule", "help"]],
    ["s", ["submit", "status", "schedule"]],
    ["status ", ["primes-1", "queens-2"]],
    ["status q", ["queens-2"]],
    ["--account x status p", ["primes-1"]],
    ["submit p", ["primes"]],
    ["submit primes --ma", ["--max-size"]],
    ["submit primes --reuse q", ["queens-2"]],
    ["submit primes --cap ", []],
    ["submit primes --acc", ["--account"]],
    ["schedule pau", ["pause"]],
    ["schedule pause n", ["nightly"]],
    ["schedule add n --overlap ", ["skip", "queue", "cancel", "allow"]],
    ["schedule add n --cron x -- pr", ["primes"]],
    ["schedule add n -- primes --t", ["--to", "--time-zone", "--take", "--tolerate", "--tag"]],
    ["nothing of this ", []],
  ])("of %j offers %j", async (line, expected) => {
    const found = await completions(program(), line.split(" "), names);
    expect(found.toSorted()).toEqual(expected.toSorted());
  });

  it("offers commands and options where nothing can be read", async () => {
    const none = async () => [];
    const nothing = { runs: none, schedules: none, calculations: none };
    expect(await completions(program(), ["status", ""], nothing)).toEqual([]);
    expect(await completions(program(), ["submit", "primes", "--to"], nothing)).toEqual(["--tolerate"]);
  });
});

const bin = join(import.meta.dirname, "../../bin/leasefold.js");
const has = (shell: string): boolean => spawnSync(shell, ["-c", "exit"]).status === 0;
let folder = "";

/** What a shell answers, without storage, in a folder without instances; anything on its error stream fails. */
async function shellSays(shell: string, script: string): Promise<string[]> {
  const env = { PATH: `${folder}:${process.env["PATH"]}`, HOME: folder };
  const { stdout, stderr } = await promisify(execFile)(shell, ["-c", script], { env, cwd: folder });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

describe("in a real shell", { timeout: 300_000 }, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-shell-"));
    const own = join(folder, "leasefold");
    await writeFile(own, `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`);
    await chmod(own, 0o755);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.skipIf(!has("bash"))(
    "bash completes commands and values, and evaluates nothing that was typed",
    async () => {
      const script = `leasefold completion bash > script; source ./script; source ./script
      typed() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _leasefold; printf '%s.' "\${COMPREPLY[@]}"; echo; }
      typed leasefold sched
      typed leasefold schedule add n --take ''
      typed leasefold '$(touch evaluated)' sub
      ls`;
      expect(await shellSays("bash", script)).toEqual([
        "schedule.",
        "latest.all.",
        ".",
        "leasefold",
        "script",
      ]);
    },
  );

  it.skipIf(!has("zsh"))("zsh completes commands", async () => {
    const script = `autoload -Uz compinit; compinit -u -D; compadd() { shift; print -l -- "$@" }
      source <(leasefold completion zsh); words=(leasefold sched); CURRENT=2; _leasefold`;
    expect(await shellSays("zsh", script)).toEqual(["schedule"]);
  });

  it.skipIf(!has("fish"))("fish completes commands", async () => {
    const script = "leasefold completion fish | source; complete -C 'leasefold sched'";
    expect(await shellSays("fish", script)).toEqual(["schedule"]);
  });
});
