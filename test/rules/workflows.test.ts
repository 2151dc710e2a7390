import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as languageService from "@actions/languageservice";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import type * as textDocument from "vscode-languageserver-textdocument";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const workflows = [
  ...readdirSync(join(root, ".github/workflows")).map((name) => `.github/workflows/${name}`),
  // What `leasefold init` writes; its scripts have names of ours.
  "packages/cli/starter/app/workflow.yml",
];
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

const bundled = mkdtempSync(join(tmpdir(), "leasefold-workflows-"));
let github: typeof languageService & typeof textDocument;

/** GitHub's own parser of workflows. It imports JSON as only bundlers do. */
beforeAll(async () => {
  const packages = ["@actions/languageservice", "vscode-languageserver-textdocument"];
  const outfile = join(bundled, "github.mjs");
  await build({
    stdin: { contents: packages.map((one) => `export * from "${one}";`).join("\n"), resolveDir: root },
    ...{ bundle: true, platform: "node", mainFields: ["module", "main"], format: "esm", outfile },
  });
  github = await import(pathToFileURL(outfile).href);
});
afterAll(() => rmSync(bundled, { recursive: true, force: true }));

/** What it finds: unknown keys, permissions and events, and wrong names and contexts in expressions. It remembers by name. */
const said = async (file: string, text: string): Promise<string[]> =>
  (await github.validate(github.TextDocument.create(`file:///${file}`, "yaml", 1, text))).map(
    ({ range, message }) => `${file}:${range.start.line + 1} ${message}`,
  );
/** Scripts that a workflow runs by name, and that do not exist. */
const unknownScripts = (text: string): string[] =>
  [...text.matchAll(/\bnpm (?:run (?:--\S+ )*)?(test\b|(?<=run (?:--\S+ )*)[\w:]+)/g)]
    .flatMap(([, name]) => name ?? [])
    .filter((name) => scripts[name] === undefined);

test("each workflow is one that the platform takes, and runs scripts that exist", async () => {
  expect(workflows.length).toBeGreaterThan(2);
  for (const file of workflows) {
    expect(await said(file, read(file))).toEqual([]);
    expect(unknownScripts(read(file)), file).toEqual([]);
  }
});

test("mistakes in a workflow are found", async () => {
  const text = read(".github/workflows/release.yml");
  for (const [from, to, says] of [
    ["id-token: write", "id-tokn: write", /id-tokn/],
    ["needs: package", "needs: packages", /packages/],
    ["github.ref_type", "github.reftype", /reftype/],
    ["vars.NPM_PUBLISH ==", "vars.NPM_PUBLISH =", /=/],
    ["    runs-on: ubuntu-latest\n", "", /runs-on/],
  ] as const) {
    expect(text).toContain(from);
    expect((await said(`planted-${from}.yml`, text.replace(from, to))).join("\n"), to).toMatch(says);
  }
  expect(unknownScripts("npm run --silent relase:notes x\n - run: npm test\n npm run build")).toEqual([
    "relase:notes",
  ]);
});

test("the version has its section in the changelog, and a tag of another version is refused", () => {
  const notes = (...tag: string[]): string =>
    execFileSync(process.execPath, [join(root, "scripts/releaseNotes.mjs"), ...tag], {
      encoding: "utf8",
      stdio: "pipe",
    });
  expect(notes().length).toBeGreaterThan(200);
  expect(() => notes("v99.0.0")).toThrow(/the tag is v99\.0\.0, and package\.json has the version/);
});
