import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const usage = `Feeds hostile documents to every door: decoders, messages, routes, command lines, files and the terminal.

  npm run fuzz                      one pass, from a seed of its own
  npm run fuzz -- --minutes 30      passes with other seeds, until the time is over or one fails
  npm run fuzz -- --seed 5          the pass that printed this seed
  npm run fuzz -- packages/sql      those files alone whose path has this

What fails belongs into the corpus in test/support/hostileValues.ts.`;

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: "string" }, seed: { type: "string" }, help: { type: "boolean" } },
});
const [minutes, first] = [
  Number(values.minutes ?? 0),
  Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)),
];
if (values.help === true || Number.isNaN(minutes) || !Number.isInteger(first)) {
  console.log(usage);
  process.exit(values.help === true ? 0 : 2);
}

const endMs = performance.now() + minutes * 60_000;
for (let seed = first; ; seed += 1) {
  console.log(`seed ${seed}`);
  const { status } = spawnSync("npx", ["vitest", "run", "--project", "deep-fuzz", ...files], {
    stdio: "inherit",
    env: { ...process.env, LEASEFOLD_SEED: String(seed) },
  });
  if (status !== 0) {
    console.log(`${["npm run fuzz -- --seed", seed, ...files].join(" ")} plays this pass again`);
    process.exit(status ?? 1);
  }
  if (performance.now() >= endMs) break;
}
