import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomStream } from "leasefold";

/** Writes daily returns of 250 assets over 1,250 days, about 3 MB: a market factor and noise, the same on every machine. */
export function makeMarket(folder: string, assets = 250, days = 1_250): string {
  const random = randomStream(2026, 0);
  const rows = Array.from({ length: days }, () => {
    const market = 0.0003 + 0.01 * random.normal();
    return Array.from({ length: assets }, () => (market + 0.02 * random.normal()).toFixed(7)).join(",");
  });
  const names = Array.from({ length: assets }, (_, asset) => `asset-${asset + 1}`);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "returns.csv");
  writeFileSync(file, `${[names.join(","), ...rows].join("\n")}\n`);
  return file;
}

if (process.argv[1] === import.meta.filename) console.log(makeMarket(process.argv[2] ?? "market"));
