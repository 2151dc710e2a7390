import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(md|[cm]?[jt]s|ya?ml|json)$/.test(name))
    .map((name) => join(folder, name));

test("no text has npx fetch a package called leasefold, a name that anybody may register", () => {
  const folders = ["docs", "src", "packages", "scripts", "bin", "examples", "infra", ".github"];
  const files = ["README.md", "package.json", "azure.yaml", ...folders.flatMap(filesIn)];
  const loose =
    /\b(npx (?!--no-install )[^`\n]*leasefold\b|npm (exec|x|i|install|add) (-\S+ )*leasefold(?!-sql)\b)/;
  const found = files.filter((file) => loose.test(readFileSync(join(root, file), "utf8")));
  expect(found).toEqual([]);
});
