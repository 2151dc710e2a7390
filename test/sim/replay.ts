import { parseArgs } from "node:util";
import { type Fate, fates } from "../support/network.ts";
import { type TraceEvent, traces } from "../support/trace.ts";
import * as election from "./election/everyPoint.ts";
import { simulate as simulateElection } from "./election/simulate.ts";
import { simulateCase } from "./engine/engineCase.ts";
import * as engine from "./engine/everyPoint.ts";
import { scenarios } from "./engine/scenarios/scenarios.ts";
import { lossyFrom, unevenFrom } from "./engine/seeds.ts";
import { disturbances } from "./scale/disturbances.ts";

const usage = `Replays one world of the simulation in this process, with source positions in stack traces.

  npm run sim -- --seed 44               one world of the engine; a negative seed is a world of changing code
  npm run sim -- --seeds 1-400           many worlds, one after the other; those that fail are named
                                         (from ${lossyFrom} losses, from ${unevenFrom} unlike packs)
  npm run sim -- --case "<title>"        one scenario; a part of the title is enough where only one has it
  npm run sim -- --point leader,17,"dies before"
                                         one fault at one call in the life of a leader, a worker or an instance
  npm run sim -- --election --seed 44    one world of the election
  npm run sim -- --election --point 4,"lost reply",3,no,early
                                         call, fate, calls in a row, operator (no, breaks, deletes), early or late
  npm run sim -- --figures "<title>"     what runs take while something happens to them, and within which bound; all
                                         cases whose titles have this part
  npm run sim -- --list                  the titles of all scenarios, and the fates of a call

  --trace   prints what happens: log events, faults, and all that storage accepts, each at its virtual time
  --help    prints this text

The exit code is 0 when every promise was kept, 1 when one was broken, 2 for wrong arguments.`;

class UsageError extends Error {}

/** What can be replayed, of either simulation. */
interface Replay {
  readonly title: string;
  play(): Promise<{
    readonly violations: readonly { readonly checker: string; readonly what: string }[];
    readonly digest: string;
  }>;
}

/** Plays what the arguments name, prints how it went, and returns the exit code. */
export async function replay(args: readonly string[], print: (line: string) => void): Promise<number> {
  const options = optionsOf(args);
  if (options instanceof UsageError) return refuse(options, print);
  if (options.help) {
    print(usage);
    return 0;
  }
  if (options.list) {
    for (const line of [
      ...Object.keys(scenarios),
      "",
      ...Object.keys(disturbances),
      "",
      `Fates of a call: ${fates.join(", ")}`,
    ])
      print(line);
    return 0;
  }
  if (options.figures !== undefined) return printFigures(options.figures, print);
  let chosen: Replay;
  try {
    if (options.seeds !== undefined) return await replaySeeds(options.seeds, print);
    chosen = chosenBy(options);
  } catch (error) {
    if (error instanceof UsageError) return refuse(error, print);
    throw error;
  }
  const listen = options.trace ? (event: TraceEvent) => print(lineOf(event)) : () => {};
  const { violations, digest, ...rest } = await traces.run(listen, chosen.play);
  print(`${chosen.title}: ${JSON.stringify({ digest, ...figuresIn(rest) })}`);
  for (const { checker, what } of violations) print(`BROKEN: ${checker}: ${what}`);
  if (violations.length === 0) print("Every promise was kept.");
  return violations.length === 0 ? 0 : 1;
}

async function replaySeeds(range: string, print: (line: string) => void): Promise<number> {
  const [from = "", to = from] = range.split("-");
  const [first, last] = [whole(from, "A seed"), whole(to, "A seed")];
  let failed = 0;
  for (let seed = first; seed <= last; seed += 1) {
    const { violations } = await simulateCase(seed);
    if (violations.length > 0) failed += 1;
    for (const { checker, what } of violations.slice(0, 2)) print(`Seed ${seed} BROKEN: ${checker}: ${what}`);
  }
  print(`${last - first + 1} worlds, of which ${failed} broke a promise.`);
  return failed === 0 ? 0 : 1;
}

async function printFigures(part: string, print: (line: string) => void): Promise<number> {
  let broken = 0;
  for (const [title, { figure }] of Object.entries(disturbances)) {
    if (!title.includes(part)) continue;
    const { took, bound, holds } = await figure();
    if (!holds) broken += 1;
    print(`${holds ? "holds" : "BROKEN"}: ${title}\n    ${took}\n    bound: ${bound}`);
  }
  return broken === 0 ? 0 : 1;
}

/** The arguments that replay a case of the engine or of the election; printed where one fails. */
export function replayCommand(one: number | string | engine.Point | election.Point): string {
  const sim = "npm run sim --";
  if (typeof one === "number") return `${sim} --seed ${one}`;
  if (typeof one === "string") return `${sim} --case ${JSON.stringify(one)}`;
  if ("who" in one) {
    const { who, call, fate, story } = one;
    return `${sim} --point ${[who, call, `"${fate}"`, ...(story === undefined ? [] : [story])].join(",")}`;
  }
  const { call, fate, times, operator, early } = one;
  return `${sim} --election --point ${call},"${fate}",${times},${operator},${early ? "early" : "late"}`;
}

function optionsOf(args: readonly string[]) {
  // `--seed -5` is read as a value, where parseArgs would take it for another option.
  const joined = args.join("\0").replace(/(^|\0)--seed\0-/g, "$1--seed=-");
  try {
    return parseArgs({
      args: joined === "" ? [] : joined.split("\0"),
      options: {
        seed: { type: "string" },
        seeds: { type: "string" },
        figures: { type: "string" },
        case: { type: "string" },
        point: { type: "string" },
        election: { type: "boolean", default: false },
        trace: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function refuse(error: UsageError, print: (line: string) => void): number {
  print(error.message);
  print("npm run sim -- --help tells what there is.");
  return 2;
}

function chosenBy(options: Exclude<ReturnType<typeof optionsOf>, UsageError>): Replay {
  const { seed, case: title, point } = options;
  if ([seed, title, point].filter((one) => one !== undefined).length !== 1) {
    throw new UsageError("Exactly one of --seed, --case and --point says what to replay.");
  }
  if (seed !== undefined) {
    const number = whole(seed, "A seed");
    if (!options.election) return { title: `Seed ${seed}`, play: () => simulateCase(number) };
    return { title: `Seed ${seed} of the election`, play: () => simulateElection(number) };
  }
  if (point !== undefined) {
    const parts = point.split(",");
    if (!options.election) {
      const found = enginePoint(parts);
      return { title: `Point ${point}`, play: () => simulateCase(found) };
    }
    const found = electionPoint(parts);
    return { title: `Point ${point} of the election`, play: () => election.everyPoint(found) };
  }
  if (options.election) throw new UsageError("The election's simulation has seeds and points, no scenarios.");
  const found = scenarioNamed(title ?? "");
  return { title: found, play: () => simulateCase(found) };
}

function scenarioNamed(title: string): string {
  if (scenarios[title] !== undefined) return title;
  const [found, ...others] = Object.keys(scenarios).filter((one) => one.includes(title));
  if (found === undefined) throw new UsageError(`No scenario has "${title}" in its title; see --list.`);
  if (others.length > 0) {
    throw new UsageError(
      `Several scenarios have "${title}" in their titles:\n${[found, ...others].join("\n")}`,
    );
  }
  return found;
}

function enginePoint([who = "", call = "", fate = "", story]: readonly string[]): engine.Point {
  if (who !== "leader" && who !== "worker" && who !== "instance")
    throw new UsageError(`"${who}" is neither leader, worker nor instance.`);
  const of = story === undefined ? {} : { story: storyNamed(story) };
  return { who, ...of, call: whole(call, "A call"), fate: fateNamed(fate) };
}

function storyNamed(name: string): engine.Story {
  const all = Object.keys(engine.stories) as engine.Story[];
  const found = all.find((one) => one === name);
  if (found === undefined) throw new UsageError(`There is no story "${name}"; there are ${all.join(", ")}.`);
  return found;
}

function electionPoint([
  call = "",
  fate = "",
  times = "1",
  operator = "no",
  when = "early",
]: readonly string[]): election.Point {
  if (operator !== "no" && operator !== "breaks" && operator !== "deletes") {
    throw new UsageError(`An operator does nothing (no), breaks or deletes, not "${operator}".`);
  }
  if (when !== "early" && when !== "late") throw new UsageError(`"${when}" is neither early nor late.`);
  const early = when === "early";
  return {
    call: whole(call, "A call"),
    fate: fateNamed(fate),
    times: whole(times, "A count"),
    operator,
    early,
  };
}

function fateNamed(name: string): Fate {
  const found = ["arrives" as const, ...fates].find((one) => one === name);
  if (found === undefined) throw new UsageError(`There is no fate "${name}"; there are ${fates.join(", ")}.`);
  return found;
}

function whole(text: string, what: string): number {
  if (!/^-?\d{1,9}$/.test(text)) throw new UsageError(`${what} is a whole number, not "${text}".`);
  return Number(text);
}

/** Columns: seconds of virtual time, who, what, and the fields on the same line. */
function lineOf({ atMs, who, event, fields }: TraceEvent): string {
  const told = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) => `${name}=${shortened(typeof value === "string" ? value : JSON.stringify(value))}`,
    );
  const at = (atMs / 1_000).toFixed(3).padStart(10);
  return `${at} ${who.padEnd(8)} ${[event, ...told].join("  ")}`;
}

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** Counts, without the lists of calls that a point gives. */
const figuresIn = (rest: object): object =>
  Object.fromEntries(Object.entries(rest).filter(([, value]) => !Array.isArray(value)));

if (import.meta.main) {
  // A reader such as `head` may close the pipe early.
  process.stdout.on("error", () => process.exit());
  process.exitCode = await replay(process.argv.slice(2), console.log);
}
