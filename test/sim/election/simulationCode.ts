import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { build, context, type Plugin } from "esbuild";

/** One change of the code under test. The text must be there exactly once, so that a mutant cannot silently rot. */
export interface Mutation {
  /** From the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Simulations as single files, which worker threads can run: the code as it is, or with something taken out. */
export interface SimulationCode {
  /** Path of a worker that simulates the seeds it is sent; see `simulationWorker.ts`. */
  build(mutations?: readonly Mutation[]): Promise<string>;
  remove(): Promise<void>;
}

const root = resolve(import.meta.dirname, "../../..");

/**
 * `entry`: the worker, by default that of the election's simulation. `mutants`: all that will be built, so that a build parses
 * the files of one mutant anew and no others.
 */
export async function simulationCode(
  entry = join(import.meta.dirname, "simulationWorker.ts"),
  mutants: readonly Mutation[] = [],
): Promise<SimulationCode> {
  const folder = await mkdtemp(join(tmpdir(), "leasefold-simulation-"));
  const options = {
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "silent",
  } as const;
  // A third of the code, and the same for each mutant.
  const zod = { contents: 'export * from "zod";', resolveDir: root };
  await build({ ...options, stdin: zod, outfile: join(folder, "zod.mjs") });
  let now: { readonly mutations: readonly Mutation[]; readonly done: Set<Mutation> };
  const files = new Set(mutants.map(({ file }) => resolve(root, file)));
  const code = await context({
    ...{ ...options, entryPoints: [entry], write: false },
    plugins: [zodBeside, mutating(files, () => now)],
  });
  let built = 0;
  return {
    async build(mutations = []) {
      now = { mutations, done: new Set() };
      const result = await code.rebuild();
      const missed = mutations.find((one) => !now.done.has(one));
      if (missed !== undefined) throw new Error(`${missed.file} is no part of the simulation.`);
      built += 1;
      const file = join(folder, `${built}.mjs`);
      await writeFile(file, result.outputFiles?.[0]?.text ?? "");
      return file;
    },
    async remove() {
      await code.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const zodBeside: Plugin = {
  name: "zod beside",
  setup({ onResolve }) {
    onResolve({ filter: /^zod$/ }, () => ({ path: "./zod.mjs", external: true }));
  },
};

/** Mutates the files of the mutations of `now`. The filter names `files`, since each file that passes it costs a turn between processes. */
const mutating = (
  files: ReadonlySet<string>,
  now: () => { readonly mutations: readonly Mutation[]; readonly done: Set<Mutation> },
): Plugin => ({
  name: "mutate",
  setup({ onLoad }) {
    if (files.size === 0) return;
    const names = [...files].map((file) => basename(file).replaceAll(".", "\\."));
    onLoad({ filter: new RegExp(`[/\\\\](${names.join("|")})$`) }, async ({ path }) => {
      if (!files.has(path)) return undefined;
      const { mutations, done } = now();
      let contents = await readFile(path, "utf8");
      for (const one of mutations.filter(({ file }) => resolve(root, file) === path)) {
        const found = contents.split(one.find).length - 1;
        if (found !== 1) throw new Error(`${one.file} has ${found} times, not once: ${one.find}`);
        contents = contents.replace(one.find, () => one.replace);
        done.add(one);
      }
      return { contents, loader: "ts" };
    });
  },
});
