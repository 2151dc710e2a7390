import { hash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";

/**
 * What a package below `node_modules` is, to the identity of the code that imports it: its name and version, and those of the
 * packages that it needs. Its files do not count, because the same version has other files on another system, and which of them
 * are loaded depends on what else has been loaded in the thread.
 *
 * A private package, which no registry has, is none of them: its files are the user's own code, as those of a workspace are.
 */
interface Package {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly needs: readonly string[];
}

const names = z.record(z.string(), z.unknown()).default({});
const packageSchema = z.looseObject({
  name: z.string().optional(),
  version: z.string().optional(),
  private: z.unknown().optional(),
  dependencies: names,
  optionalDependencies: names,
  peerDependencies: names,
  peerDependenciesMeta: names,
});

/** Up to the last one: npm places packages in packages. */
const inPackage = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/;

/** The package that a file is of; undefined for the user's own code. */
export function packageOf(url: string): Package | undefined {
  const [, folder] = inPackage.exec(fileURLToPath(url)) ?? [];
  return folder === undefined ? undefined : readPackage(folder);
}

const own = new Map<string, boolean>();

/** Whether a file is the user's own code; asked of every file that is loaded. */
export function isOwnCode(url: string): boolean {
  const [, folder] = inPackage.exec(fileURLToPath(url)) ?? [];
  if (folder === undefined) return true;
  const known = own.get(folder) ?? readPackage(folder) === undefined;
  own.set(folder, known);
  return known;
}

/** Hex SHA-256 of the names and versions of a package and of all that it needs, wherever they are placed. */
export function packageHash(root: Package): string {
  const met = new Map([[root.folder, root]]);
  for (const { folder, needs } of met.values()) {
    for (const name of needs) {
      const found = findPackage(name, folder);
      if (found !== undefined) met.set(found.folder, found);
    }
  }
  const all = new Set([...met.values()].map(({ name, version }) => `${name}@${version}`));
  return hash("sha256", JSON.stringify([...all].sort()));
}

function readPackage(link: string): Package | undefined {
  let [folder, text] = [link, ""];
  try {
    // pnpm places what a package needs beside its real folder.
    folder = realpathSync(link);
    text = readFileSync(join(folder, "package.json"), "utf8");
  } catch {
    return undefined;
  }
  const { data } = packageSchema.safeParse(parsed(text));
  if (data?.name === undefined || data.version === undefined || data.private === true) return undefined;
  // Optional ones are for some systems, or for some users; the library is never part of the code.
  const optional = { leasefold: true, ...data.optionalDependencies, ...data.peerDependenciesMeta };
  const needs = Object.keys({ ...data.dependencies, ...data.peerDependencies });
  return { folder, name: data.name, version: data.version, needs: needs.filter((one) => !(one in optional)) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** As Node finds it from a file in this folder; undefined also for one in an archive of Yarn, which has no such folders. */
function findPackage(name: string, folder: string): Package | undefined {
  const found = readPackage(join(folder, "node_modules", name));
  if (found !== undefined || dirname(folder) === folder) return found;
  return findPackage(name, dirname(folder));
}
