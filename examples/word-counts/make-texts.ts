import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomStream } from "leasefold";

/** Writes 500 texts of about 400 words from 3,000, the frequent ones first; the same on every machine. */
export function makeTexts(folder: string, files = 500): void {
  const words = ["constructor", "zero", "one", "leader", "chunk", "partial", "merge", "lease"];
  for (let n = words.length; n < 3_000; n += 1)
    words.push(`w${n.toString(36).replace(/\d/g, (d) => "ghijklmnop"[+d] ?? "")}`);
  mkdirSync(folder, { recursive: true });
  for (let file = 0; file < files; file += 1) {
    const random = randomStream(500, file);
    const drawn = Array.from(
      { length: 300 + (file % 200) },
      () => words[Math.floor(3_000 * random.uniform() ** 2 * random.uniform())],
    );
    writeFileSync(join(folder, `text-${String(file).padStart(3, "0")}.txt`), `${drawn.join(" ")}.\n`);
  }
}

if (process.argv[1] === import.meta.filename) makeTexts(process.argv[2] ?? "texts");
