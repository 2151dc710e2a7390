import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import type { Compiled } from "./compiler.ts";
import { type Facts, readFacts } from "./facts.ts";
import type { Fields, Resource } from "./json.ts";

/** What the rules look at. It comes as values, so that a test can change one of them. */
export interface Project {
  /** Texts by their path, which uses `/`. */
  readonly files: ReadonlyMap<string, string>;
  /** What each parameter file deploys, by the path of its snapshot. */
  readonly snapshots: ReadonlyMap<string, readonly Resource[]>;
  /** The compiled templates `main` and `bootstrap`; none where the compiler is missing. */
  readonly templates: Compiled["templates"];
  readonly facts: Facts;
  /** The names in the root folder, to see what a package would take along. */
  readonly rootNames: readonly string[];
}

const root = join(import.meta.dirname, "..", "..");
const wanted =
  /^(infra\/.*|\.ci\/.*|\.github\/workflows\/.*|[^/]+\.(json|yaml|md)|\.funcignore|Dockerfile|src\/.*\.ts|docs\/[^/]+\.md|scripts\/(build|ownCalculations)\.mjs)$/;

/** Reads the files of the repository that the check is about. */
export function readFiles(): Map<string, string> {
  const inside = ["infra", ".ci", ".github", "src", "docs"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
      posix.join(folder, name.replaceAll("\\", "/")),
    ),
  );
  const names = [...readdirSync(root), "scripts/build.mjs", "scripts/ownCalculations.mjs", ...inside];
  return new Map(
    names
      .filter((name) => wanted.test(name) && statSync(join(root, name)).isFile())
      .map((name) => [name, readFileSync(join(root, name), "utf8")] as const),
  );
}

const snapshotEnding = ".snapshot.json";
export const isSnapshot = (file: string): boolean =>
  file.startsWith("infra/") && file.endsWith(snapshotEnding);

export function readProject(
  files: ReadonlyMap<string, string>,
  templates: ReadonlyMap<string, Fields> = new Map(),
): Project {
  const snapshots = [...files].flatMap(([file, text]) => {
    if (!isSnapshot(file)) return [];
    const { predictedResources } = JSON.parse(text) as { predictedResources: readonly Resource[] };
    return [[file, predictedResources] as const];
  });
  return {
    ...{ files, templates, snapshots: new Map(snapshots) },
    ...{ facts: readFacts(files), rootNames: readdirSync(root) },
  };
}
