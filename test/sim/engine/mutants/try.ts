// scratch
import { join } from "node:path";
import { runCases } from "../../election/runCases.ts";
import { simulationCode } from "../../election/simulationCode.ts";
import type { EngineCase, EngineCaseDone } from "../simulationWorker.ts";
import { rules1to6 } from "./rules1to6.ts";
import { rules7to9 } from "./rules7to9.ts";
import { rules10to12 } from "./rules10to12.ts";

const code = await simulationCode(join(import.meta.dirname, "../simulationWorker.ts"));
for (const m of [...rules1to6, ...rules7to9, ...rules10to12]) {
  if (process.argv[2] && !m.without.includes(process.argv[2])) continue;
  const t = performance.now();
  let file: string;
  try {
    file = await code.build(m.edits);
  } catch (e) {
    console.log("BUILD", m.without, String(e).split("\n")[1]);
    continue;
  }
  const seen = new Map<string, string>();
  const cases =
    "seedsFrom" in m.cases
      ? Array.from({ length: 40 }, (_, i) => (m.cases as { seedsFrom: number }).seedsFrom + i)
      : m.cases;
  let n = 0,
    last: unknown;
  await runCases<EngineCase, EngineCaseDone>(file, cases, {
    threads: 1,
    enough({ case: one, result }) {
      n++;
      last = one;
      for (const v of result.violations)
        if (!seen.has(v.checker)) seen.set(v.checker, `[${JSON.stringify(one)}] ${v.what.slice(0, 160)}`);
      return seen.has(m.killedBy);
    },
  });
  const ok = seen.has(m.killedBy);
  console.log(
    ok ? "killed" : "ALIVE ",
    m.rule,
    m.without,
    "|",
    n,
    "cases, last",
    JSON.stringify(last),
    Math.round(performance.now() - t),
    "ms",
    ok ? "" : [...seen].map(([c, w]) => `\n        ${c}: ${w}`).join(""),
  );
}
await code.remove();
