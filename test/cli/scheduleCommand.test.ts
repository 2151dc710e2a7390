import { describe, expect, it } from "vitest";
import { cliWorld } from "./cliWorld.ts";

const nightly = 'schedule add nightly --cron "0 2 * * *" --time-zone Europe/Berlin';

describe("leasefold schedule", () => {
  it("makes a schedule, shows when its runs come, and lists it", async () => {
    const { run } = await cliWorld();
    expect((await run("schedule list")).out).toContain("no schedules");
    const added = await run(`${nightly} --tolerate 1% -- sum --to 100`);
    expect(added).toMatchObject({ exitCode: 0 });
    expect(added.out).toMatch(/^nightly is created; next: \d{4}-\d\d-\d\d 0[01]:00Z\n$/);
    expect(added.err).toContain('with {"to":100}');
    expect((await run(`${nightly} --tolerate 1% -- sum --to 100`)).out).toContain("is there already");
    const shown = JSON.parse((await run("schedule show nightly --json")).out);
    expect(shown).toMatchObject({
      timeZone: "Europe/Berlin",
      overlap: "skip",
      run: { tolerate: { percent: 1 } },
    });
    expect(shown.upcoming).toHaveLength(10);
    expect(shown.upcoming[0].at).toMatch(/ 02:00$/);
    expect((await run("schedule list")).out).toMatch(/nightly +0 2 \* \* \* Europe\/Berlin +sum/);
  });

  it("pauses, resumes, changes and deletes it, and says what was so already", async () => {
    const { run } = await cliWorld();
    await run(`${nightly} -- sum --to 100`);
    expect((await run("schedule pause nightly")).out).toBe("nightly is paused\n");
    expect((await run("schedule pause nightly")).out).toBe("nightly is paused already\n");
    expect((await run("schedule list")).out).toContain("paused");
    expect((await run("schedule resume nightly")).out).toBe("nightly is active\n");
    expect(await run(`${nightly} -- sum --to 7`)).toMatchObject({ exitCode: 2 });
    expect((await run(`${nightly} --replace -- sum --to 7`)).out).toContain("is replaced");
    expect((await run("schedule delete nightly")).out).toContain("is deleted");
    expect(await run("schedule show nightly")).toMatchObject({ exitCode: 2 });
  });

  it("fills templates of numbers and of tags, and keeps the pauses between attempts", async () => {
    const { run } = await cliWorld();
    const options = "--tag team=risk --tag night={date} --retry-after 1m";
    const added = await run(`${nightly} ${options} -- sum --to {year}{month}`);
    expect(added).toMatchObject({ exitCode: 0 });
    expect(added.err).toMatch(/with \{"to":20\d{4}\}/);
    const { run: asked, upcoming } = JSON.parse((await run("schedule show nightly --json")).out);
    expect(asked).toMatchObject({ params: { to: "{year}{month}" }, retryAfterS: [60] });
    expect(upcoming[0].params.to).toBe(Number(upcoming[0].at.slice(0, 7).replace("-", "")));
    expect((await run("schedule show nightly")).out).toContain("tags team=risk, night={date}");
    expect((await run(`${nightly} ${options} -- sum --to {year}{month}`)).out).toContain("is there already");
  });

  it("asks for a run now, which waits for a leader", async () => {
    const { run } = await cliWorld();
    await run(`${nightly} -- sum --to 100`);
    expect((await run("schedule trigger nightly")).out).toMatch(/^nightly-\d{8}T\d{6}Z\n$/);
    expect((await run("schedule show nightly")).out).toContain("1 run waiting");
  });

  it.each([
    ['schedule add n --cron "0 2 * *" -- sum --to 1', "five fields"],
    ['schedule add n --cron "0 2 * * *" --time-zone Berlin -- sum --to 1', "IANA time zone"],
    ['schedule add n --cron "0 0 30 2 *" -- sum --to 1', "never due"],
    ['schedule add n --cron "0 2 * * *" --overlap often -- sum --to 1', "skip, queue, cancel, allow"],
    ['schedule add n --cron "* * * * *" --catch-up 20d -- sum --to 1', "due times may be within it"],
    ['schedule add n --cron "0 2 * * *" --catch-up 1m -- sum --to 1', "at least"],
    ['schedule add n --cron "0 2 * * *" -- sum --to {date}', "invalid --to: {date} becomes 20"],
    ['schedule add n --cron "0 2 * * *" -- sum --to {day}x', "invalid --to"],
    ['schedule add n --cron "0 2 * * *" --tag team -- sum --to 1', "give key=value"],
    ['schedule add n --cron "0 2 * * *" --tag night={dates} -- sum --to 1', "invalid --tag"],
    ['schedule add n --cron "0 2 * * *" --reuse -- sum --to {day}', "nothing can be reused"],
    ['schedule add n --cron "0 2 * * *" -- sum --too 1', "unknown parameter"],
    ['schedule add n/m --cron "0 2 * * *" -- sum --to 1', "is no name of a schedule"],
    ['schedule add n --cron "0 2 * * *" -- nothing', "there is no calculation"],
    ["schedule pause n", "there is no schedule"],
    ["schedule backfill n --from 1 --to 2", "give a day"],
  ])("%s is refused: %s", async (line, why) => {
    const { run } = await cliWorld();
    const { exitCode, err } = await run(line);
    expect(err).toContain(why);
    expect(exitCode).toBeGreaterThan(0);
  });
});
