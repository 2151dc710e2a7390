import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readFiles, readProject } from "./project.ts";
import { generatedFile } from "./schemas.ts";
import type { Node } from "./syntax.ts";
import { everyNode } from "./syntax.ts";
import { bodyOf, propertiesOf } from "./template.ts";

/**
 * Makes `infra/schemas.json` anew, after a template uses a resource or property it did not use before:
 *
 *   mkdir ../azmcp && cd ../azmcp && npm init -y && npm install --ignore-scripts @azure/mcp-linux-x64
 *   node scripts/infra/makeSchemas.ts ../azmcp
 *
 * The tool is 142 MB, so it is no dependency of this package. It prints the types without a network.
 */
interface Printed {
  readonly $type: string;
  readonly name: string;
  readonly bodyType?: Printed;
  readonly elements?: readonly Printed[];
  readonly properties?: readonly { readonly name: string; readonly type: string; readonly flags?: string }[];
}

const folder = process.argv[2];
if (folder === undefined) {
  console.error(
    "usage: node scripts/infra/makeSchemas.ts FOLDER, where FOLDER has @azure/mcp-linux-x64 installed",
  );
  process.exit(2);
}
const tool = join(resolve(folder), "node_modules", "@azure", "mcp-linux-x64");
const { version } = JSON.parse(readFileSync(join(tool, "package.json"), "utf8")) as { version: string };
const env = {
  ...process.env,
  DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: "1",
  AZURE_MCP_COLLECT_TELEMETRY: "false",
};

const answers = new Map<string, Printed[]>();

function print(resourceType: string): Printed[] {
  const known = answers.get(resourceType);
  if (known !== undefined) return known;
  const args = ["bicepschema", "get", "--resource-type", resourceType];
  const text = execFileSync(join(tool, "dist", "azmcp"), args, {
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: "pipe",
  });
  const answer = JSON.parse(text) as { results?: { BicepSchemaResult?: Printed[] } };
  const printed = answer.results?.BicepSchemaResult ?? [];
  answers.set(resourceType, printed);
  return printed;
}

/** The type as `schemas.ts` describes it; `open` is called with an object that the templates look into. */
function typeText(type: string, flags: string, printed: ReadonlyMap<string, Printed>, home: string): string {
  const required = /\bRequired\b/.test(flags) ? "!" : "";
  const list = type.endsWith("[]") ? "[]" : "";
  const inner = list === "" ? type : type.slice(0, -2);
  if (printed.get(inner)?.properties?.length) return `@${home} ${inner}${list}${required}`;
  if (printed.has(inner) || inner === "any" || inner === "object") return `*${list}${required}`;
  if (list !== "" && inner.includes(" | ")) return `*[]${required}`;
  return `${inner}${list}${required}`;
}

const { project } = await readProject(readFiles());
const resources: Record<string, string> = {};
const objects: Record<string, Record<string, string>> = {};

/** Adds the object and, along the values written in a template, the objects inside. */
function add(name: string, home: string, printed: ReadonlyMap<string, Printed>, value: Node): void {
  const shape = printed.get(name);
  if (shape === undefined) return;
  const properties = (shape.properties ?? []).filter((one) => !/\bReadOnly\b/.test(one.flags ?? ""));
  objects[`${home} ${name}`] = Object.fromEntries(
    properties.map((one) => [one.name, typeText(one.type, one.flags ?? "", printed, home)]),
  );
  for (const object of [...everyNode(value)].filter((node) => node.type === "object")) {
    for (const { key, value: inner } of propertiesOf(object)) {
      const type = properties.find((one) => one.name === key)?.type.replace(/\[\]$/, "");
      if (type !== undefined && type !== name) add(type, home, printed, inner);
    }
  }
}

for (const template of project.templates.values()) {
  for (const { kind, target, value } of template.declarations) {
    const body = bodyOf(value);
    if (kind !== "resource" || target === undefined || body === undefined) continue;
    const home = target.split("@")[0] ?? "";
    let answer: Printed[];
    try {
      answer = print(home);
    } catch {
      console.error(`${home}: the tool does not know it; describe it in infra/schemas.extra.json`);
      continue;
    }
    const resource = answer.find((one) => one.$type === "Resource");
    if (resource?.name !== target) console.error(`${target}: the tool knows ${resource?.name}`);
    // Some bodies come in several shapes, told apart by their name; the first that has the properties is enough here.
    const shape = resource?.bodyType?.elements?.[0] ?? resource?.bodyType;
    if (shape === undefined) continue;
    const printed = new Map(
      answer.filter((one) => one.$type === "Object").map((one) => [one.name, one] as const),
    );
    const top = "(body)";
    const merged = new Map(printed).set(top, {
      ...shape,
      properties: (shape.properties ?? []).map((one) =>
        resource?.bodyType?.elements === undefined || one.name !== "name" ? one : { ...one, type: "string" },
      ),
    });
    const before = objects[`${home} ${top}`];
    add(top, home, merged, body);
    if (before !== undefined) objects[`${home} ${top}`] = { ...before, ...objects[`${home} ${top}`] };
    resources[target] = `${home} ${top}`;
  }
}

const sorted = <T>(record: Readonly<Record<string, T>>) => Object.fromEntries(Object.entries(record).sort());
const summary = {
  source: `@azure/mcp-linux-x64 ${version}, azmcp bicepschema get`,
  command: "node scripts/infra/makeSchemas.ts FOLDER",
  resources: sorted(resources),
  objects: sorted(objects),
};
writeFileSync(generatedFile, `${JSON.stringify(summary, null, 2)}\n`);
console.log(
  `${generatedFile}: ${Object.keys(resources).length} resources, ${Object.keys(objects).length} objects`,
);
