import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fixture, startFixture } from "./fixture/fixtureServer.ts";
import { axeFindings, disconnect, missing, visit } from "./visits.ts";

/** Each state of the page under axe (WCAG 2.2 A and AA), with no error of a script or of the policy. */
let fixture: Fixture;

interface State {
  readonly name: string;
  readonly route: string;
  /** Buttons and summaries that are pressed first. */
  readonly press?: readonly string[];
  /** What shows that the state is there. */
  readonly shows: string;
  readonly key?: string;
  readonly set?: (fixture: Fixture) => void;
  readonly answered?: readonly number[];
}

const states: readonly State[] = [
  { name: "list of runs", route: "/runs", shows: "primes-live" },
  {
    name: "empty list",
    route: "/runs",
    shows: "No runs yet",
    set: (one) => void Object.assign(one, { list: [] }),
  },
  {
    name: "run at work",
    route: "/runs/primes-live?shard=2",
    shows: "node-2, term 42",
    press: ["Cells as a table", "Leaders as a table"],
  },
  {
    name: "failed run",
    route: "/runs/risk-2026-11",
    shows: "volatility is not a number in row N",
    press: ["Sample", "Read durations"],
  },
  {
    name: "finished run",
    route: "/runs/primes-done",
    shows: "Checked in this browser",
    press: ["Read durations", "Manifest", "Compare with the plan"],
  },
  {
    name: "run that was never planned",
    route: "/runs/unplanned",
    shows: "no upload at leasefold-inputs/birds",
  },
  { name: "result of files", route: "/runs/trips-files", shows: "00000001.parquet" },
  { name: "picture", route: "/runs/mandelbrot-poster", shows: "Checked in this browser" },
  {
    name: "cancel dialog",
    route: "/runs/primes-live",
    shows: "Ends the run before it is done",
    press: ["Cancel …"],
  },
  { name: "delete dialog", route: "/runs/risk-2026-11", shows: "cannot be undone", press: ["Delete …"] },
  { name: "night", route: "/", shows: "37 complete, 3 failed" },
  { name: "system", route: "/system", shows: "ended: signal SIGKILL" },
  { name: "schedules", route: "/schedules", shows: "skipped 2026-11-20 01:00:00 UTC" },
  { name: "messages of a queue", route: "/system/leasefold-packs-poison", shows: "not decoded" },
  {
    name: "form",
    route: "/submit?calculation=options",
    shows: "must be given",
    press: ["Options of the run", "Submit", "Plan"],
  },
  { name: "form with uploads", route: "/submit?calculation=inventory", shows: "Upload files" },
  {
    name: "JSON of the form",
    route: "/submit?calculation=primes",
    shows: "Parameters as JSON",
    press: ["As JSON"],
  },
  {
    name: "key entry",
    route: "/runs",
    key: "wrong",
    shows: "That key was refused",
    press: ["Where do I find it?"],
    answered: [401],
  },
  {
    name: "no storage",
    route: "/runs",
    shows: "storage did not answer",
    set: (one) => void Object.assign(one, { broken: true }),
    answered: [503],
  },
  { name: "unknown run", route: "/runs/nothing", shows: "There is no run of this id", answered: [404] },
  { name: "unknown address", route: "/nowhere", shows: "There is no such page" },
];

/** These are also looked at in dark, where only colors differ, and as narrow as a phone. */
const alsoDark = [
  "list of runs",
  "run at work",
  "failed run",
  "finished run",
  "delete dialog",
  "night",
  "system",
  "schedules",
  "form",
  "form with uploads",
  "key entry",
];
const alsoPhone = [
  "list of runs",
  "run at work",
  "failed run",
  "finished run",
  "cancel dialog",
  "night",
  "system",
  "schedules",
  "form",
  "form with uploads",
];

describe.skipIf(missing)("axe finds nothing in", () => {
  beforeAll(async () => {
    fixture = await startFixture();
  });
  afterAll(async () => {
    await fixture?.stop();
    await disconnect();
  });

  test.each(states)("$name", async ({ name, route, press = [], shows, key, set, answered = [] }) => {
    const { list, broken } = fixture;
    set?.(fixture);
    try {
      const url = `${fixture.url}/api/ui#token=${key ?? fixture.key}&${route}`;
      const { page, problems, close } = await visit(url, { answered });
      for (const text of press) {
        const button = page.getByRole("button", { name: text, exact: true });
        await button
          .or(page.locator("summary", { hasText: text }))
          .first()
          .click();
      }
      await page.getByText(shows).and(page.locator(":visible")).first().waitFor();
      expect(await axeFindings(page)).toEqual([]);
      if (alsoDark.includes(name)) {
        await page.emulateMedia({ colorScheme: "dark" });
        expect(await axeFindings(page, ["color-contrast"])).toEqual([]);
      }
      if (alsoPhone.includes(name)) {
        await page.setViewportSize({ width: 375, height: 844 });
        expect(await axeFindings(page)).toEqual([]);
        // Nothing is wider than the page: a phone that scrolls sideways loses the controls.
        const beyond = () => document.documentElement.scrollWidth - window.innerWidth;
        await expect.poll(() => page.evaluate(beyond)).toBeLessThanOrEqual(0);
      }
      expect(problems).toEqual([]);
      await close();
    } finally {
      Object.assign(fixture, { list, broken });
    }
  });
});
