import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { type Facts, readFacts } from "./facts.ts";
import { type SchemaSummary, schemaFiles } from "./schemas.ts";
import type { Node } from "./syntax.ts";
import { bicepParser, type Finding, syntaxFindings } from "./syntax.ts";
import { type Declaration, readTemplate, type Template } from "./template.ts";

/** Everything the check looks at. The texts come as a map, so that a test can plant a mistake in one of them. */
export interface Project {
  readonly files: ReadonlyMap<string, string>;
  readonly templates: ReadonlyMap<string, Template>;
  readonly facts: Facts;
  readonly schemas: SchemaSummary;
  /** The template of a module path or an import, as written in `from`. */
  resolve(from: Template, path: string): Template | undefined;
  /** A declaration by its name, in the file or where it is imported from. */
  lookUp(from: Template, name: string): { template: Template; declaration: Declaration } | undefined;
}

const root = join(import.meta.dirname, "..", "..");
const wanted =
  /^(infra\/.*|\.github\/workflows\/.*|[^/]+\.(json|yaml|md)|\.funcignore|src\/.*\.ts|docs\/[^/]+\.md|scripts\/(build|ownCalculations)\.mjs)$/;

/** Reads the files of the repository that the check is about; paths are relative and use `/`. */
export function readFiles(): Map<string, string> {
  const folders = ["infra", ".github", "src", "packages", "docs"];
  const inside = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
      posix.join(folder, name),
    ),
  );
  const names = [...readdirSync(root), "scripts/build.mjs", "scripts/ownCalculations.mjs", ...inside].map(
    (name) => name.replaceAll("\\", "/"),
  );
  return new Map(
    names
      .filter((name) => wanted.test(name) && statSync(join(root, name)).isFile())
      .map((name) => [name, readFileSync(join(root, name), "utf8")] as const),
  );
}

/** The names in the root folder, to see what a package would take along. */
export const rootNames = (): string[] => readdirSync(root);

let parser: Promise<(text: string) => Node> | undefined;
/** Trees by their text: a test asks again and again with one file changed. */
const trees = new Map<string, Node>();

/** Parses every template; what is no Bicep is told and its rules are not asked. */
export async function readProject(
  files: ReadonlyMap<string, string>,
): Promise<{ readonly project: Project; readonly syntax: readonly Finding[] }> {
  parser ??= bicepParser();
  const parse = await parser;
  const syntax: Finding[] = [];
  const templates = new Map<string, Template>();
  for (const [file, text] of files) {
    if (!file.endsWith(".bicep")) continue;
    const tree = trees.get(text) ?? parse(text);
    trees.set(text, tree);
    syntax.push(...syntaxFindings(file, tree));
    templates.set(file, readTemplate(file, tree));
  }
  const resolve = (from: Template, path: string) =>
    templates.get(posix.normalize(posix.join(posix.dirname(from.file), path)));
  const project: Project = {
    files,
    templates,
    facts: readFacts(files),
    schemas: schemaFiles(files),
    resolve,
    lookUp(from, name) {
      const own = from.declarations.find((one) => one.name === name && one.kind !== "output");
      if (own !== undefined) return { template: from, declaration: own };
      const source = from.imports.find((one) => one.names.includes(name));
      const template = source === undefined ? undefined : resolve(from, source.from);
      const declaration = template?.declarations.find((one) => one.name === name);
      return template === undefined || declaration === undefined ? undefined : { template, declaration };
    },
  };
  return { project, syntax };
}
