import { simulate } from "./simulate.ts";

const [from, to] = (process.argv[2] ?? "1-100").split("-").map(Number) as [number, number];
const t0 = performance.now();
let claims = 0,
  takeovers = 0,
  accepted = 0,
  bad = 0;
for (let seed = from; seed <= to; seed += 1) {
  const r = await simulate(seed);
  claims += r.claims;
  takeovers += r.takeovers;
  accepted += r.accepted;
  if (r.violations.length > 0) {
    bad += 1;
    if (bad <= 15) console.log(seed, seed % 4, JSON.stringify(r.violations.slice(0, 2)));
  }
}
console.log({ claims, takeovers, accepted, bad, s: (performance.now() - t0) / 1000 });
