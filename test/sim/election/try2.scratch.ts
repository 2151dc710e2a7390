import { simulate } from "./simulate.ts";
Error.stackTraceLimit = Number(process.argv[2] ?? 10);
await simulate(1);
for (let mode = 0; mode < 5; mode += 1) {
  const t0 = process.cpuUsage().user; let claims = 0, takeovers = 0;
  for (let seed = 5 + mode; seed < 130; seed += 5) { const r = await simulate(seed); claims += r.claims; takeovers += r.takeovers; }
  const ms = (process.cpuUsage().user - t0) / 1000;
  console.log(mode, { claims, takeovers, ms, perTakeover: ms / takeovers });
}
