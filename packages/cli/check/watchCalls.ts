import crypto from "node:crypto";
import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { portableMath } from "../../../src/calculations/exact/portableMath.ts";
import { callerOf } from "../../../src/engine/calculation/placeOf.ts";
import type { Advice } from "./laws/findings.ts";
import type { CallName } from "./laws/subject.ts";

type Caller = CallName | "the file, as it loads,";
type Kind = Extract<Advice["law"], "random" | "math" | "clock">;
type Called = (...given: unknown[]) => unknown;

/** A doubtful function that was called: by which functions of a calculation, and in which package. */
interface Seen {
  readonly kind: Kind;
  readonly name: string;
  readonly callers: Set<Caller>;
  /** With the user's line that asked for it; empty for code of the user's own. */
  readonly where: string;
}

/** Stacks are costly, and the first calls of a function by one caller come from the same lines as all others. */
const stacksMax = 20;

/**
 * Notes in this thread, from now on, who calls what no other attempt repeats, and the functions of `Math` whose last bit may
 * differ between engines. It sees what runs, and names the package where it is in none of the user's files. Not seen: `x ** y`,
 * which is `Math.pow` without a call; for that `powerAdvice` reads the text.
 */
export function watchCalls() {
  /** In the order of the first calls. */
  const seen = new Map<string, Seen>();
  let caller: Caller = "the file, as it loads,";
  const noting = (kind: Kind, name: string) => {
    const stacks = new Map<Caller, number>();
    return (watched: Called): void => {
      const taken = stacks.get(caller) ?? 0;
      if (taken >= stacksMax) return;
      stacks.set(caller, taken + 1);
      note(kind, name, watched);
    };
  };
  const note = (kind: Kind, name: string, watched: Called): void => {
    const by = callerOf(watched);
    // The clock of this program is none of the calculation's.
    if (by === undefined && kind !== "math") return;
    const where = by?.package === undefined ? "" : ` in the package ${by.package}${by.place}`;
    const known = seen.get(name + where) ?? { kind, name, where, callers: new Set() };
    known.callers.add(caller);
    seen.set(name + where, known);
  };
  const watch = (kind: Kind, of: object, method: string, name: string): void => {
    const inner = Reflect.get(of, method) as Called;
    const called = noting(kind, name);
    const value: Called = (...given) => {
      called(value);
      return inner.apply(of, given);
    };
    Object.defineProperty(of, method, { value, writable: true, configurable: true });
  };
  watch("random", Math, "random", "Math.random");
  for (const name of Object.keys(portableMath)) watch("math", Math, name, `Math.${name}`);
  for (const name of ["getRandomValues", "randomUUID"])
    watch("random", globalThis.crypto, name, `crypto.${name}`);
  for (const name of ["randomBytes", "randomFillSync", "randomInt", "randomUUID"])
    watch("random", crypto, name, `crypto.${name}`);
  syncBuiltinESMExports();
  watch("clock", Date, "now", "Date.now");
  watchDates(noting("clock", "new Date"));
  return {
    /** Calls from now on are those of this function. */
    from(call: CallName): void {
      caller = call;
    },
    /** The clock is named only where it may be the cause of a broken law: it is often only logged. */
    advice(options: { readonly clock: boolean }): readonly Advice[] {
      const kinds = (["random", "clock", "math"] as const).filter(
        (kind) => kind !== "clock" || options.clock,
      );
      return kinds.flatMap((kind) => adviceOn(kind, [...seen.values()]));
    },
  };
}

/** Calls `note` for each date of now; one of a given time is the same in every attempt. */
function watchDates(note: (watched: Called) => void): void {
  const construct = (target: typeof Date, given: unknown[], made: typeof Date): object => {
    if (given.length === 0) note(construct as Called);
    return Reflect.construct(target, given, made);
  };
  const apply = (target: typeof Date): string => {
    note(apply as Called);
    return target();
  };
  const dates = new Proxy(Date, { construct, apply });
  Object.defineProperty(Date.prototype, "constructor", { value: dates, writable: true, configurable: true });
  globalThis.Date = dates;
}

const unrepeated = "which no other attempt repeats";
const mathCure = 'whose last bit may differ between versions of the engine: use portableMath of "leasefold"';
const cures: Readonly<Record<Kind, string>> = {
  random: `${unrepeated}: use randomStream(seed, index) of "leasefold"`,
  clock: `${unrepeated}: leave it out of inputs, partials and the result`,
  math: mathCure,
};

const adviceOf = (law: Advice["law"], what: string, cure: string): Advice => ({
  law,
  outcome: "advice",
  text: `${what}, ${cure}`,
});

/** One line for the user's files, and one for each package. */
function adviceOn(kind: Kind, all: readonly Seen[]): readonly Advice[] {
  const byPlace = Map.groupBy(
    all.filter((one) => one.kind === kind),
    ({ where }) => where,
  );
  return [...byPlace].map(([where, called]) => {
    const by = new Set(called.flatMap(({ callers }) => [...callers]));
    const names = called.map(({ name }) => name).join(", ");
    return adviceOf(
      kind,
      `${[...by].join(" and ")} ${by.size === 1 ? "calls" : "call"} ${names}${where}`,
      cures[kind],
    );
  });
}

/** Comments and texts, which may hold anything. */
const notCode = /\/\*[\s\S]*?\*\/|\/\/.*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;
/** Squares, and powers of whole numbers that are written out, have the same bits in every engine. */
const exactPower = /\b\d+\s*\*\*\s*\d+\b(?!\.)|\*\*=?\s*2\b(?!\.)/g;

/** Advice about `**` in these files, of the user's own and not of packages; it may be in code that never runs. */
export function powerAdvice(files: readonly string[]): readonly Advice[] {
  const found = files.filter((file) => {
    if (/[\\/]node_modules[\\/]/.test(file)) return false;
    return readFileSync(file, "utf8").replace(notCode, " ").replace(exactPower, " ").includes("**");
  });
  const names = found.map((file) => basename(file)).join(" and ");
  return found.length === 0 ? [] : [adviceOf("math", `${names} has x ** y, which is Math.pow`, mathCure)];
}
