import { createServer } from "node:net";
import { isAbsolute, resolve } from "node:path";
import { loadCalculations } from "../../calculations/registry.ts";
import { InputError } from "../../model/errors.ts";
import type { Cli } from "../cli.ts";

/** More of them on one machine only compete for its cores. */
export const instancesMax = 16;

export function checkInstances(count: number): number {
  if (count >= 1 && count <= instancesMax) return count;
  throw invalid("instances", `must be a whole number from 1 to ${instancesMax}, and ${count} is not`);
}

/** Whether the port and those after it, one for each instance, can be had. */
export async function checkPorts(first: number | undefined, instances: number): Promise<void> {
  if (first === undefined) return;
  const last = first + instances - 1;
  if (first < 1 || last > 65_535) {
    throw invalid("port", `must leave room for ${instances} ports up to 65535, and ${first} does not`);
  }
  for (let port = first; port <= last; port += 1) {
    if (!(await isFree(port))) throw invalid("port", `port ${port} is in use`);
  }
}

/** The user's files as absolute paths, those of the environment first; each is loaded once to see that it can be. */
export async function checkCalculations(
  { env, folder }: Pick<Cli, "env" | "folder">,
  files: readonly string[],
): Promise<readonly string[]> {
  const named = (env["LEASEFOLD_CALCULATIONS"] ?? "").split(",").map((file) => file.trim());
  const all = [...named.filter((file) => file !== ""), ...files];
  const paths = [...new Set(all.map((file) => (isAbsolute(file) ? file : resolve(folder, file))))];
  const bad = paths.find((path) => path.includes(","));
  if (bad !== undefined) throw invalid("calculation", `${bad}: a path with a comma cannot be passed on`);
  await loadCalculations(paths);
  return paths;
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });

const invalid = (option: string, rule: string): InputError =>
  new InputError("invalid", "bad-option", `--${option} ${rule}`, { field: option });
