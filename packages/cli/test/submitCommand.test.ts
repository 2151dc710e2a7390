import { describe, expect, it } from "vitest";
import { readMarker, readSpec } from "../../../src/engine/client/runDocuments.ts";
import { status } from "../../../src/engine/client/status.ts";
import { leadsOn } from "../../../test/client/clientWorld.ts";
import { exitCodes } from "../exitCodes.ts";
import { cliWorld, instancesOf, shown } from "./cliWorld.ts";

const layout = { chunks: 100, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };

describe("leasefold submit", () => {
  it("prints the id alone, so that a script can keep it", async () => {
    const { run, client } = await cliWorld();
    const ended = await run("submit sum --to 1e2 --id r1 --cap 7 --pack-size 5");
    expect(ended).toEqual({ exitCode: 0, out: "r1\n", err: "" });
    expect((await readMarker(client, "r1"))?.value.cap).toBe(7);
    expect((await run("submit sum --to 100 --id r1 --pack-size 5")).out).toBe("r1 was submitted before\n");
  });

  it("says that an existing run keeps its cap, and how to change it", async () => {
    const { run, client } = await cliWorld();
    const again = "submit sum --to 100 --id r1 --cap";
    await run(`${again} 7`);
    const told = '--cap: r1 keeps its cap of 7; change it with "leasefold cap r1 3"\n';
    expect(await run(`${again} 3`)).toMatchObject({
      exitCode: 0,
      out: "r1 was submitted before\n",
      err: told,
    });
    expect((await readMarker(client, "r1"))?.value.cap).toBe(7);
    expect(await run(`${again} 7`)).toMatchObject({ out: "r1 was submitted before\n", err: "" });
    await run("cap r1 3");
    expect((await run(`${again} 3`)).err).toBe("");
  });

  it.each([
    [false, /newer than what the instances run.*leasefold up --add <file>.*--watch/],
    [true, /newer than what the instances run.*load a changed one within seconds: try again/],
  ])(
    "refuses a file that has changed with advice that fits instances that watch it: %j",
    async (watch, err) => {
      const mine = { name: "mine", summary: "", params: [], schema: {}, code: "mine@sha256:3f2a8b1c9d0e" };
      const instances = instancesOf({ watch, calculations: async () => [{ ...mine, changed: true }] });
      const { run } = await cliWorld({ instances });
      const ended = await run("submit mine");
      expect(ended).toMatchObject({ exitCode: 2, err: expect.stringMatching(err) });
      expect(ended.err.includes("--watch")).toBe(!watch);
    },
  );

  it("asks a person whether the instances shall load what they lack, and names the command to everybody else", async () => {
    const instances = instancesOf({ calculations: async () => [] });
    const questions: string[] = [];
    const confirm = async (question: string) => questions.push(question) === 0;
    for (const more of [{ confirm }, {}]) {
      const { exitCode, err } = await (await cliWorld({ instances, ...more })).run("submit ./mine.ts --to 5");
      expect(exitCode).toBe(2);
      expect(err).toContain(
        'do not have the calculation: sum: they have no other. "leasefold up --add ./mine.ts"',
      );
    }
    expect(questions).toEqual([expect.stringContaining("Load ./mine.ts into them now?")]);
  });

  it("takes options of its own and of the calculation in any order, and JSON", async () => {
    const { run } = await cliWorld();
    const { out } = await run("--json submit sum --exact --id r1 --to 5 -p label=x");
    expect(JSON.parse(out)).toMatchObject({ run: "r1", created: true, woken: true });
    const { out: status } = await run("status r1 --json");
    expect(JSON.parse(status)).toMatchObject({ params: { to: 5, exact: true, label: "x", maxSize: 10 } });
  });

  it.each([
    ["10", { chunks: 10 }],
    ["0", { chunks: 0 }],
    ["1%", { percent: 1 }],
    ["0.5%", { percent: 0.5 }],
    ["1e3", { chunks: 1_000 }],
    ["1.5e3", { chunks: 1_500 }],
    ["100%", { percent: 100 }],
  ])("takes the tolerance %s into the spec", async (text, tolerate) => {
    const { run, client } = await cliWorld();
    expect((await run(`submit sum --to 5 --id r1 --tolerate ${text}`)).exitCode).toBe(0);
    expect((await readSpec(client, "r1"))?.value.tolerate).toEqual(tolerate);
  });

  it("bounds what the run may cost in its marker, which a repeated submit leaves as it is", async () => {
    const { run, client } = await cliWorld();
    expect((await run("submit sum --to 5 --id r1 --max-cost 0.25")).exitCode).toBe(0);
    expect((await readMarker(client, "r1"))?.value.dollars).toBe(0.25);
    const again = await run("submit sum --to 5 --id r1 --max-cost 2");
    expect(again.err).toContain('r1 keeps $0.2500; change it with "leasefold cap r1 --cost 2"');
    expect((await readMarker(client, "r1"))?.value.dollars).toBe(0.25);
    expect((await run("submit sum --to 5 --id r2 --max-cost -1")).exitCode).not.toBe(0);
  });

  it.each([
    ["--pack-limit 30s", { packLimitMs: 30_000 }],
    ["--pack-limit 0.5s", { packLimitMs: 500 }],
    ["--attempts 1", { attempts: 1 }],
    ["--priority high", { priority: "high" }],
    ["--deadline 5m", { deadline: { ms: 300_000, keep: false } }],
    ["--deadline 1.5h --keep", { deadline: { ms: 5_400_000, keep: true } }],
    ["--keep --deadline 2d", { deadline: { ms: 172_800_000, keep: true } }],
  ])("takes the limit %s into the spec", async (text, limited) => {
    const { run, client } = await cliWorld();
    expect((await run(`submit sum --to 5 --id r1 ${text}`)).exitCode).toBe(0);
    expect((await readSpec(client, "r1"))?.value).toMatchObject(limited);
  });

  it.each([
    [
      "submit sum --tto 5",
      "unknown parameter: --tto (did you mean --to?): the parameters are --to, --label, --exact, --max-size",
    ],
    ["submit nothing --to 5", 'there is no calculation "nothing"'],
    ["submit sum --to 1e16", "invalid --to: 1e16: must be at most 1000000000000000"],
    ["submit sum --to=1e16", "invalid --to: 1e16: must be at most 1000000000000000"],
    ["submit sum -p to=1e16", "invalid --to: 1e16: must be at most 1000000000000000"],
    ["submit sum --to 1e400", "invalid --to: 1e400: must be within the range of a double, about ±1.8e308"],
    ["submit sum --to abc", 'invalid --to: expected a number, received "abc"'],
    ["submit sum --to 5 --max-size big", 'invalid --max-size: expected a number, received "big"'],
    [
      "submit sum --wiat --to 5",
      "unknown parameter: --wiat (did you mean --wait?): the parameters are --to,",
    ],
    ["submit sum --to 5 --jsno", "unknown parameter: --jsno (did you mean --json?)"],
    ["submit sum --to 5 --maxSize big", 'invalid --maxSize: expected a number, received "big"'],
    ["submit sum --to 5 --exact maybe", "invalid --exact: maybe: must be true or false"],
    ["submit sum", "invalid --to: must be given"],
    ["submit sum --to 5 --id a/b", "invalid --id: "],
    ["submit sum --to 5 --pack-size -3", "invalid --pack-size: -3 is not a whole number from 1 to 10000000"],
    ["submit sum --to 5 --cap x", "invalid --cap: x: it must be a whole number"],
    ["submit sum --to 5 --priority urgent", "allowed choices are high, normal, low"],
    ["submit", "missing required argument 'calculation'"],
    ["submitt sum", "unknown command 'submitt' (Did you mean submit?)"],
    ["runs --color red", "unknown option '--color'"],
    ["cap r1 many", "invalid <n>: many: it must be a whole number"],
    ["runs --phase late", "invalid --phase: late: allowed choices are active, complete, failed, cancelled"],
    ["submit sum --to 5 --output=", 'invalid --output: "": it must not be empty'],
    ["result r1 --output=", 'invalid --output: "": it must not be empty'],
    ["submit sum --to 5 --tolerate 101%", "a share of the chunks is at most 100%"],
    ["submit sum --to 5 --tolerate -1", "it must be a whole number of chunks like 10"],
    ["submit sum --to 5 --tolerate -1%", "it must be a whole number of chunks like 10"],
    ["submit sum --to 5 --tolerate few", "it must be a whole number of chunks like 10"],
    ["submit sum --to 5 --tolerate %", "it must be a whole number of chunks like 10"],
    ["submit sum --to 5 --tolerate 1e400", "it must be a whole number of chunks"],
    ["submit sum --to 5 --tolerate 1e3%", "a share of the chunks is at most 100%"],
    ["submit sum --to 5 --tolerate 1.5", "it must be a whole number of chunks"],
    ["submit sum --to 5 --tolerate", "argument missing"],
    ["submit sum --to 5 --pack-limit 30", "it must be a duration like 30s, 5m, 2h or 1d"],
    ["submit sum --to 5 --pack-limit -3s", "it must be a duration like"],
    ["submit sum --to 5 --pack-limit s", "it must be a duration like"],
    ["submit sum --to 5 --pack-limit 3weeks", "it must be a duration like"],
    ["submit sum --to 5 --pack-limit 0s", "it must be more than 0"],
    ["submit sum --to 5 --pack-limit 2d", "invalid --pack-limit: 2d: it must be at most 1 d"],
    ["submit sum --to 5 --attempts 0", "invalid --attempts: 0 is not a whole number from 1 to 100"],
    ["submit sum --to 5 --attempts 101", "invalid --attempts: 101 is not a whole number from 1 to 100"],
    ["submit sum --to 5 --attempts few", "it must be a whole number"],
    ["submit sum --to 5 --deadline 0s", "it must be more than 0"],
    ["submit sum --to 5 --deadline soon", "it must be a duration like"],
    ["submit sum --to 5 --keep", "invalid --keep: needs --deadline"],
  ])("%s is refused on one line with exit code 2", async (line, message) => {
    const { run } = await cliWorld();
    const { exitCode, out, err } = await run(line);
    expect([exitCode, out, err.split("\n").length]).toEqual([2, "", 2]);
    expect(err).toContain(`leasefold: `);
    expect(err).toContain(message);
  });

  it("tells mistakes as JSON to programs", async () => {
    const { run } = await cliWorld();
    const bad = await run("submit sum --to 5 --cap 0 --json");
    expect(JSON.parse(bad.err)).toEqual({
      error: {
        code: "bad-cap",
        field: "cap",
        message: "invalid --cap: 0 is not a whole number from 1 to 100000",
        exitCode: 2,
      },
    });
    expect(JSON.parse((await run("--json nonsense")).err)).toMatchObject({
      error: { code: "usage", exitCode: 2 },
    });
  });

  it("answers a conflict with exit code 2", async () => {
    const { run } = await cliWorld();
    await run("submit sum --to 5 --id r1");
    expect(await run("submit sum --to 6 --id r1")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("r1"),
    });
  });
});

describe("leasefold submit --pack-limit", () => {
  it.each([
    ["5m", ""],
    [
      "6m",
      expect.stringMatching(/^--pack-limit: the limit of the app counts where it is less .*300 s by default/),
    ],
  ])("%s: says where the limit of an app that has not told its own may count", async (limit, err) => {
    const { run } = await cliWorld();
    const ended = await run(`submit sum --to 5 --id r1 --pack-limit ${limit}`);
    expect(ended).toEqual({ exitCode: 0, out: "r1\n", err });
  });

  it.each([
    ["59s", ""],
    ["2m", "--pack-limit: the app ends an attempt after 60 s (LEASEFOLD_PACK_LIMIT_S)\n"],
  ])("%s: says the limit that the app has told, if it is less", async (limit, err) => {
    const { run, storage } = await cliWorld();
    await leadsOn(storage, { about: { LEASEFOLD_PACK_LIMIT_S: "60" } });
    const ended = await run(`submit sum --to 5 --id r1 --pack-limit ${limit}`);
    expect(ended).toEqual({ exitCode: 0, out: "r1\n", err });
  });
});

describe("leasefold submit --wait", () => {
  it("shows progress beside and prints only the result", async () => {
    const { start, world, client, putState, putResult } = await cliWorld();
    const { ended, err } = start("submit sum --to 100 --id r1 --wait", { tty: true });
    await world.advance(1_000);
    const run = { run: "r1", uid: (await readMarker(client, "r1"))?.value.uid ?? "" };
    await putState(run, {
      phase: "computing",
      layout,
      packsDone: 5,
      rate: 2,
      terms: [{ term: 3, holder: "n", atMs: 0 }],
    });
    await world.advance(1_000);
    expect(shown(err())).toMatch(/^r1 submitted\nr1 {2}waiting {2}sum\n/);
    expect(shown(err())).toContain("r1  computing  sum\n\n  ██████████████████████░");
    expect(shown(err())).toMatch(
      /50 % {2}5\/10 packs\n {2}2\.00\/s packs · 0:0\d · \$0\.000\d\n\n {2}leader {3}nobody yet/,
    );
    await putResult(run, '{"sum":4950}');
    await putState(run, { phase: "complete", layout, packsDone: 10, finishedMs: client.clock.wallMs() });
    const { exitCode, out, err: all } = await world.finish(ended);
    expect([exitCode, out]).toEqual([0, '{"sum":4950}\n']);
    expect(shown(all)).toMatch(/\nr1 complete after 2 s\n$/);
  });

  it("ends with exit code 7 and the reason when a chunk failed", async () => {
    const { start, world, client, putState } = await cliWorld();
    const { ended } = start("submit sum --to 100 --id r1 --wait");
    await world.advance(500);
    const uid = (await readMarker(client, "r1"))?.value.uid ?? "";
    await putState(
      { run: "r1", uid },
      { phase: "failed", error: { code: "pack-failed", message: "pack 3 threw\u001b[31m red\nlow" } },
    );
    const { exitCode, out, err } = await world.finish(ended);
    expect([exitCode, out]).toEqual([7, ""]);
    expect(err).toMatch(/pack 3 threw.*red.*low\n"leasefold retry r1" computes what is missing/);
    expect(err).not.toContain("\u001b");
  });

  it("says after 5 s that nobody leads, how to start an instance, and what doctor finds", async () => {
    for (const [line, tty] of [
      ["submit sum --to 100 --id r1 --wait", false],
      ["submit sum --to 100 --id r1", true],
    ] as const) {
      const { start, world, client } = await cliWorld();
      const { ended, err, interrupt } = start(line, { tty });
      await world.advance(4_000);
      expect(err()).not.toContain("nobody leads");
      await world.advance(4_000);
      expect(shown(err())).toMatch(
        /\nnobody leads: no instance has taken r1 for 5 s.*leasefold up.*\ndoctor: 1 run is open and nobody has ever led; /,
      );
      await world.advance(20_000);
      expect(err().match(/nobody leads/g)).toHaveLength(1);
      expect((await status(client, "r1")).word).toBe("waiting");
      interrupt();
      await world.finish(ended);
    }
  });

  it("does not say so of a run that a leader has seen, or to a script that does not wait", async () => {
    const { start, run, world, putState } = await cliWorld();
    const { exitCode, err } = await run("submit sum --to 100 --id r1");
    expect([exitCode, err, world.nowMs()]).toEqual([0, "", expect.any(Number)]);
    const { ended } = start("submit sum --to 100 --id r2", { tty: true });
    await world.advance(500);
    const { run: id, uid } = JSON.parse((await run("status r2 --json")).out);
    await putState({ run: id, uid }, { phase: "computing", layout });
    expect((await world.finish(ended)).err).not.toContain("nobody leads");
  });

  it.each(["submit sum --to 100 --id r1 --wait", "submit sum --to 100 --id r1"])(
    "%s -o refuses a file that cannot be written, and submits nothing",
    async (line) => {
      const { start, client } = await cliWorld();
      const ended = await start(`${line} -o /none/out.json`).ended;
      expect(ended).toMatchObject({
        exitCode: 2,
        out: "",
        err: expect.stringContaining("cannot write /none"),
      });
      expect(await readMarker(client, "r1")).toBeUndefined();
    },
  );

  it.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("ends after %s with %d, as a shell counts it", async (signal, code) => {
    const { start, world } = await cliWorld();
    const { ended, interrupt } = start("submit sum --to 100 --id r1 --wait");
    await world.advance(500);
    interrupt(signal);
    expect((await world.finish(ended)).exitCode).toBe(code);
    expect(exitCodes.map(([known]) => known)).toContain(code);
  });

  it("leaves the run alone on Ctrl-C and ends with 130", async () => {
    const { start, world, client } = await cliWorld();
    const { ended, interrupt } = start("submit sum --to 100 --id r1 --wait");
    await world.advance(500);
    interrupt();
    const { exitCode, out, err } = await world.finish(ended);
    expect([exitCode, out]).toEqual([130, ""]);
    expect(err).toContain("r1 continues without being watched");
    expect((await readMarker(client, "r1"))?.value.want).toBe("run");
  });
});
