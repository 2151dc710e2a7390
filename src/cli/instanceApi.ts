import * as z from "zod";
import type { DescribedCalculation } from "../client/describeCalculations.ts";
import type { RunRequest } from "../client/runRequest.ts";
import type { Submitted } from "../client/submit.ts";
import { findLocalFile, type LocalFile } from "../local/localFile.ts";
import { InputError, messageOf, StorageError } from "../model/errors.ts";
import type { ConnectOptions } from "./cli.ts";
import { namespaceOf, namesStorage } from "./connect.ts";

/**
 * The embedded instances that run in this folder or above, asked over HTTP. They know the user's calculations, whose
 * code this process loads only from files that the user names to it.
 */
export interface InstanceApi {
  calculations(): Promise<readonly DescribedCalculation[]>;
  /** As `client/submit.ts`, with the parameters checked by the calculation itself. */
  submit(request: RunRequest): Promise<Submitted>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** An instance that hangs is skipped. */
const answerMs = 10_000;

/** Undefined where nothing runs, and where options or settings name the storage: then instances are not searched for. */
export async function findInstanceApi(
  options: ConnectOptions,
  env: Env,
  folder: string,
): Promise<InstanceApi | undefined> {
  if (namesStorage(options, env)) return undefined;
  const found = await findLocalFile(env, folder);
  if (found.kind !== "found" || found.local.namespace !== namespaceOf(options, env)) return undefined;
  const { local } = found;
  return {
    calculations: async () => listSchema.parse(await ask(local, "GET", "calculations")).calculations,
    submit: async (request) => submittedSchema.parse(await ask(local, "POST", "runs", request)),
  };
}

const paramSchema = z.object({
  name: z.string(),
  type: z.string(),
  default: z.string().optional(),
  description: z.string(),
});
const listSchema = z.object({
  calculations: z.array(
    z.object({
      ...{ name: z.string(), summary: z.string(), params: z.array(paramSchema), code: z.string() },
      changed: z.literal(true).optional(),
    }),
  ),
});
const submittedSchema = z.object({
  run: z.string(),
  uid: z.string(),
  created: z.boolean(),
  woken: z.boolean(),
});
const problemSchema = z.object({ code: z.string(), detail: z.string(), field: z.string().optional() });

/** The answer of the first instance that gives one. */
async function ask(local: LocalFile, method: string, path: string, body?: unknown): Promise<unknown> {
  const why: string[] = [];
  for (const { name, httpUrl } of local.instances) {
    if (httpUrl === undefined) continue;
    const answer = await fetch(`${httpUrl}/api/${path}`, {
      method,
      headers: { "x-functions-key": local.functionKey, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.timeout(answerMs),
    }).catch((error: unknown) => {
      why.push(`${name}: ${messageOf(error)}`);
    });
    if (answer) return await bodyOf(answer);
  }
  throw new StorageError("busy", "", undefined, `no instance answers (${why.join("; ")})`);
}

async function bodyOf(answer: Response): Promise<unknown> {
  const value: unknown = await answer.json().catch(() => undefined);
  if (answer.ok) return value;
  const problem = problemSchema.safeParse(value);
  if (!problem.success || answer.status >= 500) {
    const why = problem.data?.detail ?? `status ${answer.status}`;
    throw new StorageError("busy", "", answer.status, `an instance could not do it: ${why}`);
  }
  const { code, detail, field } = problem.data;
  const kind = answer.status === 409 ? "conflict" : "invalid";
  throw new InputError(kind, code, detail, field === undefined ? {} : { field });
}
