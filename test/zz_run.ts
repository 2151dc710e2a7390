import { simulateCase } from "./sim/engine/engineCase.ts";
import { scenarios } from "./sim/engine/scenarios/scenarios.ts";

const [what = "all", a = "1", b = "20"] = process.argv.slice(2);
const cases: (string | number)[] =
  what === "seeds"
    ? Array.from({ length: Number(b) - Number(a) + 1 }, (_, i) => Number(a) + i)
    : Object.keys(scenarios).filter((n) => what === "all" || n.includes(what));
let bad = 0;
for (const one of cases) {
  const t = performance.now();
  let r;
  try {
    r = await simulateCase(one);
  } catch (e) {
    console.log("THROW", one, e);
    bad++;
    continue;
  }
  const ms = Math.round(performance.now() - t);
  if (r.violations.length > 0) {
    bad++;
    console.log(
      `BAD ${one} ${ms} ms: ${r.violations
        .slice(0, 3)
        .map((v) => JSON.stringify(v))
        .join("\n    ")
        .slice(0, 900)}`,
    );
  } else if (ms > 8000) console.log(`slow ${one} ${ms}`);
}
console.log("done", cases.length, "bad", bad);
