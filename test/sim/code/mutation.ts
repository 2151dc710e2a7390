import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/**
 * One change of the code under test. It names the function, constant or class at the top of a file, wherever that file is,
 * and its text must be in what has that name exactly once, so that a mutant cannot silently rot.
 */
export interface Mutation {
  readonly in: string;
  readonly find: string;
  readonly replace: string;
}

const root = resolve(import.meta.dirname, "../../..");

/** The mutant no longer matches the code: it proves nothing until it is written anew. */
class StaleMutantError extends Error {
  constructor({ in: where, find }: Mutation, why: string) {
    super(`mutant is stale: ${why} (in ${where}: ${find})`);
  }
}

/** The declarations at the top of a file: name, and where the text begins and ends. */
function declarationsIn(
  text: string,
): { readonly name: string; readonly from: number; readonly to: number }[] {
  const starts = [
    ...text.matchAll(
      /^(?:export )?(?:default )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type) (\w+)/gm,
    ),
  ];
  return starts.map((start, index) => ({
    name: start[1] as string,
    from: start.index,
    to: starts[index + 1]?.index ?? text.length,
  }));
}

function placesOf(find: string, text: string, from: number): number[] {
  const at = text.indexOf(find, from);
  return at < 0 ? [] : [at, ...placesOf(find, text, at + find.length)];
}

/** The files that the mutations change, and their changed texts. Throws where one is stale. */
export function mutate(
  files: ReadonlyMap<string, string>,
  mutations: readonly Mutation[],
): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const mutation of mutations) {
    const { in: where, find, replace } = mutation;
    let named = false;
    const places = [...files].flatMap(([file, asItIs]) => {
      const text = changed.get(file) ?? asItIs;
      const bodies = declarationsIn(text).filter(({ name }) => name === where);
      named ||= bodies.length > 0;
      return bodies.flatMap(({ from, to }) =>
        placesOf(find, text.slice(0, to), from).map((at) => ({ file, text, at })),
      );
    });
    const [place] = places;
    if (!named) throw new StaleMutantError(mutation, "nothing has that name");
    if (place === undefined || places.length > 1)
      throw new StaleMutantError(mutation, `the text is there ${places.length} times, not once`);
    const { file, text, at } = place;
    changed.set(file, text.slice(0, at) + replace + text.slice(at + find.length));
  }
  return changed;
}

/** What engine and election are made of, by the path from the root of the repository. */
function sources(): ReadonlyMap<string, string> {
  const folders = ["src/engine", "src/election", "src/azure"];
  const names = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name)),
  );
  return new Map(names.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}

/**
 * What the compiler says of the mutants: each mutated file stands beside the one that it was made of, so that one call of the
 * compiler judges all. A mutant that does not type-check breaks something else than it says.
 */
export function typeErrors(mutants: readonly (readonly Mutation[])[]): string[] {
  const asItIs = sources();
  const folder = mkdtempSync(join(tmpdir(), "leasefold-mutants-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    copyFileSync(join(root, "package.json"), join(folder, "package.json"));
    const write = (name: string, text: string): void => {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    };
    for (const [name, text] of asItIs) write(name, text);
    for (const [index, mutations] of mutants.entries())
      for (const [name, text] of mutate(asItIs, mutations))
        write(name.replace(/\.ts$/, `.mutant${index}.ts`), text);
    const config = {
      extends: join(root, "tsconfig.json"),
      compilerOptions: { noUnusedLocals: false, noUnusedParameters: false, allowUnreachableCode: true },
      include: ["src"],
      exclude: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules/.bin/tsc");
    const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], {
      cwd: folder,
      encoding: "utf8",
    });
    return stdout.split("\n").filter((line) => line.trim() !== "");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
