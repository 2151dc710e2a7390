import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { expect, test } from "vitest";

/**
 * A client of storage is made in one module, which checks the hosts that get a token, and a credential in one other. Whoever makes one
 * elsewhere sends a token where a setting says. `test/e2e/tokenHost.test.ts` has the built program.
 */
const clients = "src/azure/connectStorage.ts";
const credentials = "src/azure/dataStorage.ts";

/** Where code is loaded by a name that is no literal, and what it is. */
const computed: Readonly<Record<string, string>> = {
  "bin/leasefold.js": "the bundle beside it",
  "packages/cli/loadThread.ts": "files of calculations",
  "packages/cli/local/azurite.ts": "the emulator's folder",
  "packages/cli/local/azuriteProcess.ts": "the emulator",
  "packages/cli/starter/writeStarter.ts": "this package's folder",
  "packages/client/download.ts": "node:crypto",
  "packages/sql/duck/session.ts": "DuckDB",
  "src/app/api/report.ts": "the report of the build",
  "src/calculations/registry.ts": "files of calculations",
  "src/host/embeddedHost.ts": "the app",
};

interface Source {
  readonly name: string;
  readonly text: string;
}

const root = join(import.meta.dirname, "../..");
const sources: readonly Source[] = ["src", "packages", "bin"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
      join(folder, name).split(sep).join("/"),
    ),
  )
  .filter((name) => /\.[cm]?[jt]sx?$/.test(name) && !/\/(test|starter\/app)\//.test(name))
  .map((name) => ({ name, text: readFileSync(join(root, name), "utf8") }));

const sdk = /["'`]@azure\/(storage|identity|core-(?!functions)|msal)[^"'`\s]*["'`]/;
/** Classes and functions by which a client or a credential comes about. */
const maker =
  /\b(\w*(Service|Blob|Queue|Container|Batch|Share|DataLake)\w*Client|\w*Credential|StorageSharedKey\w*|[nN]ewPipeline|Pipeline)\b/;

/** What a file does that could make a client or a credential. */
function makes({ name, text: whole }: Source): string[] {
  const text = whole.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
  const found: string[] = [];
  const own = name === clients || name === credentials;
  const types = /(?:import|export)\s+type\s+[^;]*?from\s+["'][^"']*["'];|typeof import\("[^"]*"\)/g;
  const values = text.replaceAll(types, "");
  if (sdk.test(values) && !own) {
    if (!name.startsWith("src/azure/")) found.push("names a package of the SDK");
    // Others of its room take functions of it, such as the one that signs a link.
    const imports = [...values.matchAll(/import\s+\{([^}]*)\}\s+from\s+["']@azure\/[^"']+["'];/g)];
    const taken = imports.flatMap(([, names = ""]) => names.split(",").map((one) => one.trim()));
    if (taken.some((one) => !one.startsWith("type ") && maker.test(one))) found.push("imports a maker");
    const rest = imports.reduce((left, [all]) => left.replace(all, ""), values);
    if (sdk.test(rest)) found.push("takes the SDK as a whole");
  }
  if (!own && /\.fromConnectionString\b|["'`]fromConnectionString/.test(values))
    found.push("connects by a string");
  if (!own && new RegExp(`\\b(new|extends)\\s+(\\w+\\.)*${maker.source}`).test(values))
    found.push("makes one");
  if (own && /export\s+(\*|\{|class)/.test(values)) found.push("gives a maker away");
  const dynamic =
    /\bimport\((?!\s*["'][^"']*["']\s*\))|\bcreateRequire\b|getBuiltinModule\((?!"node:)|\brequire\((?!\s*["'])/;
  if (dynamic.test(values) && !(name in computed)) found.push("loads code by a computed name");
  if (/["'`]authorization["'`]|\bBearer /i.test(values) && !authorizes.includes(name))
    found.push("writes a token");
  return found;
}

/** The client of a program sends what the program gives it, to the address that it gives; the other reads the header of a page. */
const authorizes = ["packages/client/leasefoldClient.ts"];

test("clients and credentials are made in the one module for each", () => {
  const found = sources.flatMap((source) => makes(source).map((what) => `${source.name} ${what}`));
  expect(found).toEqual([]);
  expect(sources.length).toBeGreaterThan(300);
  const text = (name: string) => sources.find((one) => one.name === name)?.text ?? "";
  expect(text(clients)).toContain("new BlobServiceClient(");
  expect(text(clients)).toContain("checkHosts(connection)");
  expect(text(credentials)).toContain("new DefaultAzureCredential(");
});

test("the credential of this process goes to the module that checks hosts, and to the sign-in of the command line", () => {
  const users = sources.filter(({ text }) => /\b(signedInCredential|dataStorageFrom)\b/.test(text));
  expect(users.map(({ name }) => name).filter((name) => name !== credentials)).toEqual([
    "src/app/functions/startupConfig.ts",
    "packages/cli/connect.ts",
    "packages/cli/local/instance.ts",
  ]);
});

test("each file that loads code by a computed name does so", () => {
  const names = sources.map(({ name }) => name);
  expect(Object.keys(computed).filter((name) => !names.includes(name))).toEqual([]);
});

test.each([
  ["packages/cli/x.ts", `import { BlobServiceClient } from "@azure/storage-blob";`],
  ["packages/cli/x.ts", `import * as blob from '@azure/storage-blob';`],
  ["packages/cli/x.ts", `const { QueueServiceClient } = await import("@azure/storage-queue");`],
  ["packages/cli/x.ts", "const sdk = await import(`@azure/identity`);"],
  ["packages/cli/x.ts", `const sdk = await import("@az" + "ure/identity");`],
  ["packages/cli/x.ts", `const sdk = await import(name);`],
  ["packages/cli/x.ts", `const sdk = createRequire(import.meta.url)("@azure/identity");`],
  ["packages/cli/x.mjs", `import identity from "@azure/identity";`],
  ["packages/cli/x.ts", `export { BlobServiceClient as Other } from "@azure/storage-blob";`],
  ["src/azure/x.ts", `export * from "@azure/storage-blob";`],
  [
    "src/azure/x.ts",
    `import { BlobServiceClient as Other } from "@azure/storage-blob"; new Other(uri, token);`,
  ],
  ["src/azure/x.ts", `import { type Tags, BlobClient } from "@azure/storage-blob";`],
  ["src/azure/x.ts", `import * as sdk from "@azure/storage-blob";`],
  ["src/azure/x.ts", `import sdk from "@azure/storage-blob";`],
  ["src/azure/x.ts", `class Mine extends BlobServiceClient {}`],
  ["src/azure/x.ts", `return new (service.constructor)(uri); new sdk.BlobServiceClient(uri);`],
  ["src/azure/x.ts", `Object.getPrototypeOf(service).constructor.fromConnectionString(text);`],
  ["src/azure/x.ts", `const make = service["fromConnectionString"];`],
  [clients, `export { BlobServiceClient };`],
  [credentials, `export * from "@azure/identity";`],
  [credentials, `export class Mine extends DefaultAzureCredential {}`],
  ["packages/cli/x.ts", `fetch(uri, { headers: { Authorization: \`Bearer \${token}\` } });`],
])("a file %s that evades it is found: %s", (name, text) => {
  expect(makes({ name, text })).not.toEqual([]);
});
