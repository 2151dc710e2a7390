import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomStream } from "leasefold";

/** Writes 20 CSV files of 500 houses: price = 20,000 + 1,500 area + 9,000 rooms and noise; the same on every machine. */
export function makeHouses(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (let file = 0; file < 20; file += 1) {
    const random = randomStream(20, file);
    const rows = Array.from({ length: 500 }, (_, n) => {
      const rooms = 1 + Math.floor(6 * random.uniform());
      const area = Math.round(18 * rooms + 30 * random.uniform());
      const price = Math.round(20_000 + 1_500 * area + 9_000 * rooms + 5_000 * random.normal());
      return `"Long Street ${n + 1}, town ${file}",${area},${rooms},${price}`;
    });
    writeFileSync(join(folder, `s${file}.csv`), `address,area,rooms,price\n${rows.join("\n")}\n`);
  }
}

if (process.argv[1] === import.meta.filename) makeHouses(process.argv[2] ?? "houses");
