import { execFile } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { buildCommit } from "./buildCommit.mjs";
import { bundledLicenses } from "./bundledLicenses.mjs";
import { compileKernel } from "./compileKernel.mjs";
import { buildOwnCalculations } from "./ownCalculations.mjs";
import { pageBuild } from "./pageBuild.mjs";
import { replaceFiles } from "./replaceFiles.mjs";

/**
 * Builds `dist/`: the app that the Functions host loads (`index.cjs` with `shared-*.cjs`, its thread entries, and the
 * compiled kernels, which a thread reads), what runs it here (`cli.cjs`, `instance.cjs`), `leasefold.mjs`, which user
 * calculations import, `app.mjs` and `election.mjs`, the package's `leasefold/app` and `leasefold/election`, the types of these,
 * and `ui`, the dashboard. The
 * app is CommonJS because the Azure SDKs are, and stands on nothing but these files, `package.json` and `host.json`.
 * Calculations in `calculations/` become part of it.
 *
 * Builds may run at once, as those of azd for two regions do: each has a folder of its own, and a `dist/` that is the same
 * already is not touched. A host that runs sees one change at most. A build that fails leaves `dist/` as it was.
 */
const root = join(import.meta.dirname, "..");
// Outside of the app, whose folder the Functions host watches.
const home = await mkdtemp(join(tmpdir(), "leasefold-build-"));
const out = join(home, "dist");
await mkdir(out);
// A calculation of one's own finds `leasefold` by them.
for (const name of ["package.json", "host.json"]) await copyFile(join(root, name), join(home, name));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
/** A cold start loads most of it; a tenth is Arrow, which only a query that asks for it loads. */
const appBytesMax = 2.25 * 1024 * 1024;
/** All of the dashboard, as it goes over a network. */
const pageGzipBytesMax = 52_000;
const pageFiles = ["index.html", "app.js", "app.css"];
const appFiles = ["index.cjs", "thread.cjs", "piscina-worker.cjs", "report.cjs", "primes.wasm", "exact.wasm"];

/** Piscina starts `worker.js` beside itself; in a bundle that file has another name. */
const piscinaWorker = {
  name: "piscina-worker",
  setup(onBuild) {
    onBuild.onLoad({ filter: /piscina[\\/]dist[\\/]index\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const before = `(__dirname, 'worker.js')`;
      if (!source.includes(before))
        throw new Error(`${path} no longer starts worker.js as this build expects`);
      return { contents: source.replace(before, `(__dirname, 'piscina-worker.cjs')`), loader: "js" };
    });
  },
};

/** The blob SDK loads all of Arrow for a format of lists that is not asked for here; `sql` needs some of its modules. */
const wholeArrow = {
  name: "whole-arrow",
  setup(onBuild) {
    onBuild.onResolve({ filter: /^apache-arrow$/ }, ({ path }) => ({ path, external: true }));
  },
};

const options = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node22",
  sourcemap: true,
  sourcesContent: false,
  keepNames: true,
  minify: true,
  // Node prints the source line of an uncaught error, which of a minified file is all of it.
  lineLimit: 200,
  // The licenses of all packages are in one file.
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  outdir: out,
  outExtension: { ".js": ".cjs" },
};

/**
 * Comes before all else in the entries for Node, as `bin/leasefold.js` begins. The Functions host takes the first `node` of the path,
 * whatever its version, and an old one would end somewhere with an error that names no version. The entries are in syntax that Node 18
 * reads.
 */
const versionCheck = `{
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 24 && !(major === 22 && minor >= 18)) {
    const message = "Leasefold needs Node 22 from 22.18 on, or Node 24 or later, and this is " + process.version + " (" + process.execPath + "). Put a newer one first on the PATH, then start again.";
    console.error(message);
    throw new Error(message);
  }
}`;

/**
 * The package's `leasefold/app`. The host's `@azure/functions-core` is found by what is loaded with `require`: Node 22 does not call
 * module hooks for what a CommonJS module requires that was imported.
 */
const appEntry = `import { createRequire } from "node:module";
${versionCheck}
export const { registerLeasefold } = createRequire(import.meta.url)("./app.cjs");
`;

/** Of all programs for Node. */
const program = {
  ...options,
  // The Functions host provides the first; the second is an optional native part of Piscina; DuckDB is native.
  external: ["@azure/functions-core", "@napi-rs/nice", "@duckdb/node-api"],
  define: {
    "import.meta.dirname": "__dirname",
    "import.meta.filename": "__filename",
    "process.env.BUILD_COMMIT": JSON.stringify(buildCommit(root, process.env) ?? ""),
  },
  plugins: [piscinaWorker, wholeArrow],
};

/**
 * The app, its threads and the host that loads it here. What several need is in files of its own, such as the Azure SDK, which
 * an embedded instance then holds once, or zod, which the package then has once; so is the identity library, which is loaded with the first token. esbuild splits only ES modules.
 */
async function buildApp() {
  const { outputFiles, metafile } = await build({
    ...program,
    entryPoints: {
      index: "packages/sql/app/index.ts",
      app: "packages/sql/app/leasefoldApp.ts",
      instance: "packages/cli/local/instance.ts",
      thread: "packages/sql/app/thread.ts",
    },
    format: "esm",
    splitting: true,
    chunkNames: "shared-[hash]",
    sourcemap: "inline",
    write: false,
  });
  const { target, platform, lineLimit } = options;
  const same = { target, platform, lineLimit, minify: true, sourcesContent: false, sourcemap: true };
  await Promise.all(
    outputFiles.map(async ({ path, text }) => {
      const name = basename(path);
      const own = name === "index.cjs" ? { target: "node18", banner: versionCheck } : {};
      const { code, map } = await transform(text, { ...same, format: "cjs", sourcefile: name, ...own });
      await writeFile(path, `${code}//# sourceMappingURL=${name}.map\n`);
      await writeFile(`${path}.map`, map);
    }),
  );
  return { metafile };
}

/**
 * esbuild leaves other characters in templates and regular expressions as they are. One of them makes V8 keep the whole
 * file with two bytes for each character, which of the app is 1.7 MB more in each process.
 */
async function inAscii(name) {
  const file = join(out, name);
  const text = await readFile(file, "utf8");
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  await writeFile(file, text.replace(/[^\0-\x7f]/g, escaped));
}

/** The sources of a map are named from where it will be. */
async function fromDist(name) {
  const map = JSON.parse(await readFile(join(out, name), "utf8"));
  const there = dirname(join(root, "dist", name));
  const here = dirname(join(out, name));
  const sources = map.sources.map((source) =>
    // Packages that are bundles themselves name theirs by addresses, and a file without sources names itself.
    /^\w+:|^[^/]+$/.test(source) ? source : relative(there, resolve(here, source)).replaceAll("\\", "/"),
  );
  await writeFile(join(out, name), JSON.stringify({ ...map, sources }));
}

/**
 * DuckDB for the package that Azure gets, which has no other packages: beside the bundles, where Node finds it. Only the binary
 * for Linux x64, which is what Azure runs; a machine of another kind does not have it installed, and `makePackage` says so.
 */
async function copyDuckdb() {
  const names = [
    "@duckdb/node-api",
    "@duckdb/node-bindings",
    "@duckdb/node-bindings-linux-x64",
    "detect-libc",
  ];
  const isNeeded = (file) => !/\.(d\.ts|map|md)$/.test(file);
  for (const name of names.map((one) => join("node_modules", one)))
    if (existsSync(join(root, name)))
      await cp(join(root, name), join(out, name), { recursive: true, filter: isNeeded });
}

const started = Date.now();
const kernels = appFiles.filter((name) => name.endsWith(".wasm"));
const compiled = await Promise.all(kernels.map((name) => compileKernel(basename(name, ".wasm"))));
const made = await Promise.all([
  ...kernels.map((name, i) => writeFile(join(out, name), compiled[i])),
  copyDuckdb(),
  buildApp(),
  build({
    ...program,
    entryPoints: {
      "piscina-worker": "node_modules/piscina/dist/worker.js",
      cli: "packages/cli/main.ts",
      azuriteProcess: "packages/cli/local/azuriteProcess.ts",
      checkThread: "packages/cli/check/checkThread.ts",
      loadThread: "packages/cli/loadThread.ts",
    },
    format: "cjs",
  }),
  build({
    ...options,
    entryPoints: {
      leasefold: "src/calculations/leasefold.ts",
      check: "packages/cli/check/leasefoldCheck.ts",
    },
    format: "esm",
    banner: { js: versionCheck },
    outExtension: { ".js": ".mjs" },
  }),
  build({
    ...options,
    entryPoints: { election: "src/election/leasefoldElection.ts" },
    plugins: [wholeArrow],
    format: "esm",
    outExtension: { ".js": ".mjs" },
    // Packages in CommonJS among those of the SDK ask for modules of Node.
    banner: {
      js: `import { createRequire } from "node:module";\n${versionCheck}\nconst require = createRequire(import.meta.url);`,
    },
  }),
  build({
    ...options,
    entryPoints: { client: "packages/client/leasefoldClient.ts" },
    platform: "browser",
    target: ["node20", "es2022"],
    format: "esm",
    outExtension: { ".js": ".mjs" },
  }),
  build({
    ...options,
    ...pageBuild,
    outdir: join(out, "ui"),
    outExtension: {},
    sourcemap: false,
    keepNames: false,
    lineLimit: 0,
  }),
  build({
    ...program,
    entryPoints: { report: "packages/dashboard/report/reportPage.tsx" },
    format: "cjs",
    jsx: "automatic",
    jsxImportSource: "preact",
  }),
  // Types without bodies: a user's own type check would want the types of Node for those.
  promisify(execFile)(
    process.execPath,
    ["node_modules/typescript/bin/tsc", "-p", "tsconfig.types.json", "--outDir", join(out, "types")],
    { cwd: root },
  ),
  cp(join(root, "python/leasefold.py"), join(out, "python/leasefold.py")),
  // What `leasefold new` and `leasefold init` write is text.
  ...["app", "python", "calculation.ts", "calculation.test.ts"].map((name) =>
    cp(join(root, "packages/cli/starter", name), join(out, "starter", name), { recursive: true }),
  ),
]);
await writeFile(join(out, "app.mjs"), appEntry);
const metafiles = made.flatMap((one) => one?.metafile ?? []);
const sharedFiles = (await readdir(out)).filter((name) => /^shared-.*\.cjs$/.test(name));
await Promise.all(["index.cjs", "app.cjs", "instance.cjs", "thread.cjs", ...sharedFiles].map(inAscii));
const maps = (await readdir(out)).filter((name) => name.endsWith(".map"));
await Promise.all(maps.map(fromDist));
await writeFile(join(out, "LICENSES.txt"), bundledLicenses(metafiles));
await buildOwnCalculations(root, out).catch((error) => {
  console.error(error.message);
  process.exit(1);
});

await cp(join(root, "packages/dashboard/index.html"), join(out, "ui", "index.html"));
// A test compares it with the routes.
await cp(join(root, "docs/openapi.json"), join(out, "ui", "openapi.json"));
const pages = await Promise.all(pageFiles.map((name) => readFile(join(out, "ui", name))));
const pageBytes = pages.reduce((sum, page) => sum + gzipSync(page, { level: 9 }).length, 0);
const sizes = await Promise.all(
  [...appFiles, ...sharedFiles].map(async (name) => (await stat(join(out, name))).size),
);
await replaceFiles(out, join(root, "dist"));
const appBytes = sizes.reduce((sum, size) => sum + size, 0);
if (!process.argv.includes("--quiet"))
  console.log(
    `built dist/ in ${((Date.now() - started) / 1000).toFixed(1)} s; the app is ${(appBytes / 1e6).toFixed(2)} MB, its dashboard ${(pageBytes / 1e3).toFixed(1)} kB gzip`,
  );
if (appBytes > appBytesMax) {
  console.error(`The app is larger than ${appBytesMax} bytes.`);
  process.exitCode = 1;
}
if (pageBytes > pageGzipBytesMax) {
  console.error(`The dashboard is larger than ${pageGzipBytesMax} bytes of gzip.`);
  process.exitCode = 1;
}
