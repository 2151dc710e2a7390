import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { portableMath } from "../../../calculations/exact/portableMath.ts";
import type { Advice } from "../../../engine/calculation/laws/findings.ts";
import type { CallName } from "../../../engine/calculation/laws/subject.ts";

type Caller = CallName | "the file, as it loads,";

/**
 * Notes in this thread, from now on, who calls `Math.random` and the functions of `Math` whose last bit may differ between
 * engines. It sees what runs, packages included, and not what a scan of the text would only suspect. Not seen: `x ** y`, which
 * is `Math.pow` without a call; for that `powerAdvice` reads the text.
 */
export function watchMath(math: object = Math) {
  /** By function, in the order of the first calls. */
  const callers = new Map<string, Set<Caller>>();
  let caller: Caller = "the file, as it loads,";
  for (const name of ["random", ...Object.keys(portableMath)]) {
    const inner = Reflect.get(math, name) as (...given: readonly number[]) => number;
    const watched = (...given: readonly number[]): number => {
      const known = callers.get(name);
      if (known === undefined) callers.set(name, new Set([caller]));
      else known.add(caller);
      return inner(...given);
    };
    Object.defineProperty(math, name, { value: watched, writable: true, configurable: true });
  }
  return {
    /** Calls from now on are those of this function. */
    from(call: CallName): void {
      caller = call;
    },
    advice(): readonly Advice[] {
      const [random, inexact] = [true, false].map((is) =>
        [...callers].filter(([name]) => (name === "random") === is),
      );
      return [...adviceOn("random", random, randomCure), ...adviceOn("math", inexact, mathCure)];
    },
  };
}

const randomCure = 'which no other attempt repeats: use randomStream(seed, index) of "leasefold"';
const mathCure = 'whose last bit may differ between versions of the engine: use portableMath of "leasefold"';

const adviceOf = (law: Advice["law"], what: string, cure: string): Advice => ({
  law,
  outcome: "advice",
  text: `${what}, ${cure}`,
});

function adviceOn(law: Advice["law"], called: readonly [string, ReadonlySet<Caller>][] = [], cure: string) {
  const by = new Set(called.flatMap(([, callers]) => [...callers]));
  const names = called.map(([name]) => `Math.${name}`).join(", ");
  const calls = `${[...by].join(" and ")} ${by.size === 1 ? "calls" : "call"} ${names}`;
  return called.length === 0 ? [] : [adviceOf(law, calls, cure)];
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
