import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { build, transform } from "esbuild";
import { type Mutation, mutate } from "./mutation.ts";

/** The text of each file as CommonJS, by its path from the root of the repository. */
export type Texts = ReadonlyMap<string, string>;

/** What a thread plays next. */
export interface Play {
  readonly one: unknown;
  /** Files with changes. */
  readonly changed: Texts;
}

/** What a thread is given. */
export interface Code {
  readonly root: string;
  readonly texts: Texts;
  /** A module of them with `play(one)`. */
  readonly entry: string;
}

interface Cases<One, Done> {
  readonly cases: Iterable<One>;
  /** What is changed in the code; nothing when left out. */
  readonly mutations?: readonly Mutation[];
  readonly threads: number;
  /** Called with each answer. `true`: no case after those being played. */
  enough(done: Done): boolean;
}

/** A simulation on threads of its own, with the code as it is or with something taken out. */
export interface SimulationCode<One, Done> {
  /** Plays the cases in their order, several at a time. */
  run(cases: Cases<One, Done>): Promise<void>;
  close(): Promise<void>;
}

const root = resolve(import.meta.dirname, "../../..");
const format = {
  format: "cjs",
  platform: "node",
  target: "node22",
  logLevel: "silent",
  tsconfigRaw: {},
  define: { "import.meta.dirname": "__dirname", "import.meta.filename": "__filename" },
} as const;

/** `entry`: a module that exports `play(one)`. */
export async function simulationCode<One, Done>(entry: string): Promise<SimulationCode<One, Done>> {
  const bundle = { bundle: true, packages: "external", write: false, metafile: true } as const;
  const { metafile } = await build({ ...format, ...bundle, entryPoints: [entry], absWorkingDir: root });
  const sources = new Map(
    Object.keys(metafile.inputs).map((file) => [file, readFileSync(join(root, file), "utf8")]),
  );
  const asItIs = await textsOf(sources);
  const codeUnderTest = new Map([...sources].filter(([file]) => file.startsWith("src/")));
  const code: Code = { root, texts: asItIs, entry: relative(root, entry) };
  const idle: Worker[] = [];
  const started: Worker[] = [];
  const start = (): Worker => {
    const worker = new Worker(new URL("./codeThread.ts", import.meta.url), { workerData: code });
    started.push(worker);
    return worker;
  };
  return {
    async run({ cases, mutations = [], threads, enough }) {
      const changed = await textsOf(mutate(codeUnderTest, mutations));
      const left = cases[Symbol.iterator]();
      let stop = false;
      const oneThread = async (): Promise<void> => {
        let next = left.next();
        // A thread takes longer to start than a case to play: none is started for nothing.
        if (stop || next.done === true) return;
        const worker = idle.pop() ?? start();
        for (; !stop && next.done !== true; next = left.next()) {
          worker.postMessage({ one: next.value, changed } satisfies Play);
          const [done] = (await once(worker, "message")) as [Done];
          if (enough(done)) stop = true;
        }
        idle.push(worker);
      };
      await Promise.all(Array.from({ length: threads }, oneThread));
    },
    async close() {
      await Promise.all(started.map((worker) => worker.terminate()));
    },
  };
}

async function textsOf(files: ReadonlyMap<string, string>): Promise<Texts> {
  const one = async ([file, text]: readonly [string, string]): Promise<readonly [string, string]> => [
    file,
    (await transform(text, { ...format, loader: "ts" })).code,
  ];
  return new Map(await Promise.all([...files].map(one)));
}
