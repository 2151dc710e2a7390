import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { InputError } from "../../../src/engine/model/errors.ts";
import { makeFolder } from "../local/makeFolder.ts";
import { calculationsFolder } from "../local/userApp.ts";
import { badOption, systemReason } from "../options.ts";
import { compilerOptions, ownRoot, packageFacts, starterFolder, startingText } from "./writeStarter.ts";

/** The calculation that an app begins with. */
export const firstCalculation = "collatz";

/**
 * Writes a Functions app of a user's own: what `app/` beside this file holds, the calculation of the starter, and what this
 * package itself is deployed with. Returns the full paths. Throws `InputError` before anything is written where one of the files
 * exists.
 */
export async function writeApp(dir: string, from: string) {
  const folder = resolve(from, dir);
  const files = await filesOf(folder);
  const names = Object.keys(files);
  const taken = names.filter((name) => existsSync(join(folder, name)));
  if (taken.length > 0) {
    const message = `${folder} has ${taken.join(", ")} already: choose another folder, or move them away`;
    throw new InputError("conflict", "file-exists", message, { field: "dir" });
  }
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      await makeFolder(dirname(path));
      await writeFile(path, text, { flag: "wx" });
    }
  } catch (cause) {
    throw badOption("dir", `cannot write in ${folder}: ${systemReason(cause)}`, "bad-folder");
  }
  return { folder, files: names.map((name) => join(folder, name)) };
}

/** The text of each file by its path in the folder. */
async function filesOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const root = ownRoot();
  const name = packageName(folder);
  const own = async (file: string) => await readFile(join(root, file), "utf8");
  const starting = async (file: string) =>
    startingText(await readFile(join(starterFolder(), file), "utf8"), firstCalculation, "ts").replaceAll(
      "STARTING-APP",
      name,
    );
  const { leasefold, types, azurite, engines } = await packageFacts(folder, root);
  const packageJson = {
    ...{ name, private: true, type: "module", main: "src/index.ts", engines: { node: engines.node } },
    scripts: {
      start: "leasefold up --watch",
      test: "node --test",
      build: "tsc && node build.mjs",
      deploy: "npm run build && cd dist && func azure functionapp publish",
    },
    dependencies: { leasefold },
    devDependencies: { "@types/node": types["@types/node"], azurite, typescript: types.typescript },
  };
  const calculation = join(calculationsFolder, firstCalculation);
  const templates = relative(
    join(folder, "infra"),
    join(await installFolder(folder), "node_modules/leasefold/infra"),
  )
    .split(sep)
    .join("/");
  return {
    "package.json": json(packageJson),
    "tsconfig.json": json({ compilerOptions, include: ["src"] }),
    "host.json": await own("host.json"),
    "local.settings.json": await own("local.settings.sample.json"),
    [join("src", "index.ts")]: await starting("app/index.ts"),
    [`${calculation}.ts`]: await starting("calculation.ts"),
    [`${calculation}.test.ts`]: await starting("calculation.test.ts"),
    "build.mjs": await starting("app/build.mjs"),
    "README.md": await starting("app/readme"),
    ".gitignore": await starting("app/gitignore"),
    ".funcignore": await starting("app/funcignore"),
    "azure.yaml": await starting("app/azure.yaml"),
    // The templates come with each version of the package.
    [join("infra", "main.bicepparam")]: (await own("infra/main.bicepparam")).replace(
      "using 'main.bicep'",
      `using '${templates}/main.bicep'`,
    ),
    [join(".github", "workflows", "deploy.yml")]: await starting("app/workflow.yml"),
  };
}

/** Where npm and Yarn will install what the app depends on: at the root of the workspace that it is in, or else in its folder. */
async function installFolder(folder: string, from = folder): Promise<string> {
  const text = await readFile(join(from, "package.json"), "utf8").catch(() => "");
  if (/"workspaces"\s*:/.test(text)) return from;
  return dirname(from) === from ? folder : installFolder(folder, dirname(from));
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** A name that npm takes. */
const packageName = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 100) || "my-app";
