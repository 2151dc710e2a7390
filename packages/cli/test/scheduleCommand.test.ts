import { describe, expect, it } from "vitest";
import { cliWorld } from "./cliWorld.ts";

const nightly = 'schedule add nightly --cron "0 2 * * *" --time-zone Europe/Berlin';

describe("leasefold schedule", () => {
  it("makes a schedule, says when its runs come, and lists it", async () => {
    const { run } = await cliWorld();
    expect((await run("schedule list")).out).toContain("no schedules");
    const options = "--tolerate 1% --retry-after 1m --tag team=risk --tag night={date}";
    const added = await run(`${nightly} ${options} -- sum --to 100`);
    expect(added).toMatchObject({ exitCode: 0 });
    expect(added.out).toMatch(/^nightly is created; next: \d{4}-\d\d-\d\d 0[01]:00:00 UTC\n$/);
    expect(added.err).toContain('with {"to":100}');
    expect((await run(`${nightly} ${options} -- sum --to 100`)).out).toContain("is there already");
    expect(JSON.parse((await run("schedule list --json")).out).schedules).toMatchObject([
      {
        ...{ timeZone: "Europe/Berlin", overlap: "skip" },
        run: { params: { to: 100 }, tolerate: { percent: 1 }, retryAfterS: [60], tags: { night: "{date}" } },
      },
    ]);
    expect((await run("schedule list")).out).toMatch(/nightly +0 2 \* \* \* Europe\/Berlin +sum/);
  });

  it("lists what does not decode as unreadable, under a name that no shell takes for more", async () => {
    const { run, storage, client } = await cliWorld();
    await storage.blobs.create(client.names.active, "_schedules/night$(id)", "{}");
    const listed = await run("schedule list");
    expect(listed.err).toContain("_schedules/night%24%28id%29 is unreadable: its name is no schedule's");
    expect(JSON.parse((await run("schedule list --json")).out).unreadable).toHaveLength(1);
  });

  it("fills templates where the calculation takes a text", async () => {
    const { run } = await cliWorld();
    const added = await run(`${nightly} -- sum --to 1 --label "night {date-1}"`);
    expect(added.err).toMatch(/with \{"to":1,"label":"night \d{4}-\d\d-\d\d"\}/);
    expect((await run(`${nightly} -- sum --to 1 --label "night {date-1}"`)).out).toContain(
      "is there already",
    );
  });

  it("pauses, resumes and deletes it, and says what was so already", async () => {
    const { run } = await cliWorld();
    await run(`${nightly} -- sum --to 100`);
    expect((await run("schedule pause nightly")).out).toBe("nightly is paused\n");
    expect((await run("schedule pause nightly")).out).toBe("nightly is paused already\n");
    expect((await run("schedule list")).out).toContain("paused");
    expect((await run("schedule resume nightly")).out).toBe("nightly is active\n");
    expect(await run(`${nightly} -- sum --to 7`)).toMatchObject({ exitCode: 2 });
    expect((await run("schedule delete nightly")).out).toContain("is deleted");
    expect(await run("schedule pause nightly")).toMatchObject({ exitCode: 2 });
    expect((await run(`${nightly} -- sum --to 7`)).out).toContain("is created");
  });

  it("asks for a run now, and for that of a time that is past, once", async () => {
    const { run } = await cliWorld();
    await run(`${nightly} -- sum --to 100`);
    expect((await run("schedule trigger nightly")).out).toMatch(/^nightly-\d{8}T\d{6}Z\n$/);
    const late = "schedule trigger nightly --at 2020-11-23T02:00+01:00";
    expect((await run(late)).out).toBe("nightly-20201123T010000Z\n");
    expect((await run(late)).out).toBe("nightly-20201123T010000Z is there already: waiting\n");
  });

  it.each([
    ['schedule add n --cron "0 2 * *" -- sum --to 1', "five fields"],
    ['schedule add n --cron "0 0 30 2 *" -- sum --to 1', "never due"],
    ['schedule add n --cron "0 2 * * *" --time-zone Mars -- sum --to 1', "IANA"],
    ['schedule add n --cron "0 2 * * *" --overlap queue -- sum --to 1', "skip, allow"],
    ['schedule add n --cron "0 2 * * *" -- sum --to {day}x', "invalid --to"],
    ['schedule add n --cron "0 2 * * *" --tag team -- sum --to 1', "give key=value"],
    ['schedule add n --cron "0 2 * * *" --tag night={dates} -- sum --to 1', "invalid --tag"],
    ['schedule add n --cron "0 2 * * *" --reuse -- sum --to 1 --label {day}', "nothing can be reused"],
    ['schedule add n --cron "0 2 * * *" -- sum --too 1', "unknown parameter"],
    ['schedule add n/m --cron "0 2 * * *" -- sum --to 1', "is no name of a schedule"],
    ['schedule add n --cron "0 2 * * *" -- nothing', "there is no calculation"],
    ["schedule pause n", "there is no schedule"],
    ["schedule trigger n", "there is no schedule"],
  ])("%s is refused: %s", async (line, why) => {
    const { run } = await cliWorld();
    const { exitCode, err } = await run(line);
    expect(err).toContain(why);
    expect(exitCode).toBeGreaterThan(0);
  });
});
