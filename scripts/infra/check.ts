import { bicepCli, fails } from "./bicepCli.ts";
import { type Project, readFiles, readProject, rootNames } from "./project.ts";
import { constraints } from "./rules/constraints.ts";
import { delivery } from "./rules/delivery.ts";
import { deployed } from "./rules/deployed.ts";
import { drift } from "./rules/drift.ts";
import { driftSettings } from "./rules/driftSettings.ts";
import { hostJson } from "./rules/hostJson.ts";
import { identifiers } from "./rules/identifiers.ts";
import { leastRights } from "./rules/leastRights.ts";
import { modules } from "./rules/modules.ts";
import { parameterFiles } from "./rules/parameterFiles.ts";
import { resourceTypes } from "./rules/resourceTypes.ts";
import { security } from "./rules/security.ts";
import type { Finding } from "./syntax.ts";

const rules: readonly ((project: Project) => Finding[])[] = [
  identifiers,
  modules,
  resourceTypes,
  security,
  leastRights,
  constraints,
  parameterFiles,
  drift,
  driftSettings,
  hostJson,
  deployed,
];

/**
 * Everything that can be said of the infrastructure without a network: its grammar, names, types, security, and whether it
 * says what the code says. Not that Azure will take it: only `what-if` and a deployment tell that.
 */
export async function checkInfra(
  files: ReadonlyMap<string, string>,
  names: readonly string[],
): Promise<Finding[]> {
  const { project, syntax } = await readProject(files);
  if (syntax.length > 0) return [...syntax];
  const found = [...rules.flatMap((rule) => rule(project)), ...delivery(project, names)];
  return found.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column);
}

export const lineOf = ({ file, line, column, rule, message }: Finding): string =>
  `${file}:${line}:${column} ${rule} ${message}`;

if (process.argv[1] === import.meta.filename) {
  const files = readFiles();
  const findings = await checkInfra(files, rootNames());
  const templates = [...files.keys()].filter((file) => file.endsWith(".bicep"));
  const told = bicepCli(templates, ["infra/main.bicep", "infra/bootstrap.bicep"]);
  const all = [...findings, ...(told ?? [])];
  for (const finding of all) console.log(lineOf(finding));
  const count = all.filter(fails).length;
  const cli =
    told === undefined
      ? "the Bicep CLI is not on the path, so build, lint and format were left out"
      : "Bicep CLI: build, lint, format";
  console.log(`infra: ${templates.length} templates, ${count} findings (${cli})`);
  process.exitCode = count > 0 ? 1 : 0;
}
