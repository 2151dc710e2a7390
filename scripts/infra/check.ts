import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile, findCompiler } from "./compiler.ts";
import { type Finding, lineOf } from "./finding.ts";
import { isSnapshot, type Project, readFiles, readProject } from "./project.ts";
import { delivery } from "./rules/delivery.ts";
import { drift } from "./rules/drift.ts";
import { platform } from "./rules/platform.ts";
import { refused } from "./rules/refusals.ts";
import { rights } from "./rules/rights.ts";
import { settings } from "./rules/settings.ts";

/**
 * What no compiler knows: whether the infrastructure says what the code says, gives no right too many, and holds nothing that Azure
 * has refused. It reads the snapshots and, where the compiler is there, what it made of the templates.
 */
export function checkProject(project: Project): Finding[] {
  return [platform, refused, rights, drift, settings, delivery].flatMap((rule) => rule(project));
}

/** Snapshots that are not what the compiler says now, by their path. */
export const staleSnapshots = (
  files: ReadonlyMap<string, string>,
  snapshots: ReadonlyMap<string, string>,
): string[] => [
  ...[...snapshots].filter(([file, text]) => files.get(file) !== text).map(([file]) => file),
  ...[...files.keys()].filter((file) => isSnapshot(file) && !snapshots.has(file)),
];

/** `npm run infra:check [-- --update]`; `--update` writes the snapshots anew. */
async function main(): Promise<void> {
  const files = readFiles();
  const compiler = findCompiler();
  const found: string[] = [];
  if (compiler === undefined) {
    console.log(
      "infra: there is no Bicep compiler (.ci/bicep gets it): templates and snapshots were not compared",
    );
  } else {
    const { told, templates, snapshots } = await compile(compiler, files);
    found.push(...told);
    for (const file of staleSnapshots(files, snapshots)) {
      const text = snapshots.get(file);
      if (!process.argv.includes("--update"))
        found.push(`${file} is not what is deployed now: run npm run infra:check -- --update`);
      else if (text === undefined) found.push(`${file} has no parameter file that compiles`);
      else {
        writeFileSync(join(import.meta.dirname, "../..", file), text);
        files.set(file, text);
        console.log(`infra: wrote ${file}`);
      }
    }
    found.push(...checkProject(readProject(files, templates)).map(lineOf));
  }
  if (compiler === undefined) found.push(...checkProject(readProject(files)).map(lineOf));
  for (const line of new Set(found)) console.log(line);
  console.log(`infra: ${new Set(found).size} findings`);
  process.exitCode = found.length > 0 ? 1 : 0;
}

if (process.argv[1] === import.meta.filename) await main();
