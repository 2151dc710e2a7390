import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Fields } from "./json.ts";
import { isSnapshot } from "./project.ts";

export interface Compiled {
  /** What the compiler says: errors and warnings with their place, files in another format, deployments that fail. */
  readonly told: readonly string[];
  /** Compiled templates by their path. */
  readonly templates: ReadonlyMap<string, Fields>;
  /** What each parameter file deploys, as text by the path of its snapshot. */
  readonly snapshots: ReadonlyMap<string, string>;
}

const root = join(import.meta.dirname, "..", "..");
const entries: readonly string[] = ["infra/main.bicep", "infra/bootstrap.bicep"];
/** Of nobody; they make the names of a snapshot the same everywhere. */
const nobody = "00000000-0000-0000-0000-000000000000";
const metadata = {
  ...{ tenantId: nobody, subscriptionId: nobody, resourceGroup: "leasefold" },
  ...{ location: "northeurope", deploymentName: "leasefold" },
};

/** The compiler that `.ci/run` restored, or one on the path; undefined where there is none. */
export function findCompiler(): string | undefined {
  const project = readFileSync(join(root, ".ci/bicep.csproj"), "utf8");
  const [, version = ""] = /CommandLine\.linux-x64" Version="([\d.]+)"/.exec(project) ?? [];
  const restored = join(root, ".leasefold/bicep/azure.bicep.commandline.linux-x64", version, "tools/bicep");
  return [restored, "bicep"].find((command) => spawnSync(command, ["--version"]).status === 0);
}

/**
 * Lets the compiler build, lint and format these templates, and say what each parameter file deploys. It gets copies and changes
 * nothing here. It needs no network and knows no subscription, so it cannot say whether Azure takes the deployment.
 */
export async function compile(command: string, files: ReadonlyMap<string, string>): Promise<Compiled> {
  const folder = mkdtempSync(join(tmpdir(), "leasefold-bicep-"));
  const sources = [...files].filter(([file]) => file.startsWith("infra/") && !isSnapshot(file));
  for (const [file, text] of sources) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  // What azd says of its environment is not what a snapshot is about.
  const { AZURE_ENV_NAME: _, ...env } = process.env;
  const bicep = new Compiler(spawn(command, ["jsonrpc", "--stdio"], { env }));
  const [told, templates, snapshots] = [
    new Set<string>(),
    new Map<string, Fields>(),
    new Map<string, string>(),
  ];
  const tell = ({ diagnostics }: Built) => {
    for (const { source, range, level, code, message } of diagnostics) {
      const file = source.replaceAll("\\", "/").replace(`${folder}/`, "");
      told.add(`${file}:${range.start.line + 1}:${range.start.char + 1} ${level} ${code}: ${message}`);
    }
  };
  try {
    for (const [file, text] of sources) {
      const path = join(folder, file);
      if (entries.includes(file)) {
        const built = await bicep.ask<Built>("compile", { path });
        tell(built);
        if (built.contents) templates.set(file, JSON.parse(built.contents) as Fields);
      }
      if (file.endsWith(".bicepparam")) {
        tell(await bicep.ask<Built>("compileParams", { path, parameterOverrides: {} }));
        const made = await bicep
          .ask<{ snapshot: string }>("getSnapshot", { path, metadata, externalInputs: [] })
          .catch((error: Error) => told.add(`${file}: ${error.message}`) && undefined);
        if (made !== undefined)
          snapshots.set(file.replace(/bicepparam$/, "snapshot.json"), inOrder(made.snapshot));
      }
      if (/\.bicep(param)?$/.test(file)) {
        const { contents } = await bicep.ask<{ contents: string }>("format", { path });
        if (contents !== text) told.add(`${file}: run: bicep format ${file}`);
      }
    }
    return { told: [...told], templates, snapshots };
  } finally {
    bicep.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The compiler gives outputs in another order each time. */
function inOrder(snapshot: string): string {
  const { outputs, ...rest } = JSON.parse(snapshot) as { outputs: Fields };
  const sorted = Object.entries(outputs).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify({ ...rest, outputs: Object.fromEntries(sorted) }, null, 2)}\n`;
}

interface Built {
  readonly contents?: string;
  readonly diagnostics: readonly {
    readonly source: string;
    readonly range: { readonly start: { readonly line: number; readonly char: number } };
    readonly level: string;
    readonly code: string;
    readonly message: string;
  }[];
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** One process of the compiler for all questions (`bicep jsonrpc`): it takes seconds to start and milliseconds to answer. */
class Compiler {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #read = Buffer.alloc(0);
  #last = 0;

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#process = child;
    child.stdout.on("data", (bytes: Buffer) => this.#take(bytes));
    child.on("close", (code) => {
      for (const [id, answer] of this.#waiting)
        answer({ id, error: { message: `the compiler ended with ${code}` } });
    });
  }

  /** Throws with the compiler's own message. */
  async ask<Result>(method: string, parameters: object): Promise<Result> {
    this.#last += 1;
    const id = this.#last;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method: `bicep/${method}`, params: [parameters] });
    const { result, error } = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    });
    if (error !== undefined) throw new Error(error.message);
    return result as Result;
  }

  end(): void {
    this.#process.kill();
  }

  /** Each answer has a header with its length, as in the Language Server Protocol. */
  #take(bytes: Buffer): void {
    this.#read = Buffer.concat([this.#read, bytes]);
    for (;;) {
      const body = this.#read.indexOf("\r\n\r\n") + 4;
      const length = Number(/Content-Length: (\d+)/.exec(this.#read.toString("latin1", 0, body))?.[1]);
      if (body < 4 || this.#read.length < body + length) return;
      const answer = JSON.parse(this.#read.toString("utf8", body, body + length)) as Answer;
      this.#read = this.#read.subarray(body + length);
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    }
  }
}
