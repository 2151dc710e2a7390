import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { bicepCli, fails, findingsIn } from "../../scripts/infra/bicepCli.ts";

const path = process.env["PATH"];
const folders: string[] = [];

afterEach(() => {
  process.env["PATH"] = path;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Puts a program called `bicep` on the path that answers as the script says. */
function fakeBicep(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), "leasefold-fake-bicep-"));
  folders.push(folder);
  writeFileSync(join(folder, "bicep"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, "bicep"), 0o755);
  process.env["PATH"] = `${folder}${delimiter}${path}`;
  return folder;
}

test("without the Bicep CLI nothing is claimed", () => {
  process.env["PATH"] = mkdtempSync(join(tmpdir(), "leasefold-no-bicep-"));
  folders.push(process.env["PATH"]);
  expect(bicepCli(["infra/main.bicep"], ["infra/main.bicep"])).toBeUndefined();
});

test.skipIf(process.platform === "win32")("what the Bicep CLI says becomes findings, each once", () => {
  const folder = fakeBicep(`
case "$1" in
  --version) echo 'Bicep CLI version 0.46.1' ;;
  build) echo "$2(3,1) : Error BCP057: The name \\"y\\" does not exist." >&2 ;;
  lint) echo "$2(4,1) : Error no-hardcoded-location: A location is fixed." >&2 ;;
esac
case "$1" in
  build|lint) echo "$2(12,3) : Warning no-unused-params: Parameter \\"x\\" is declared but never used." >&2 ;;
  format) cp "$2" "$4" && [ "$2" = "$FAKE/good.bicep" ] || echo '// other' >> "$4" ;;
esac`);
  process.env["FAKE"] = folder;
  for (const name of ["good", "bad"]) writeFileSync(join(folder, `${name}.bicep`), "param x string\n");
  const [good, bad] = [join(folder, "good.bicep"), join(folder, "bad.bicep")];
  const found = bicepCli([good, bad], [good]) ?? [];
  expect(found.map(({ rule, file, line }) => [rule, file, line])).toEqual([
    ["bicep-build", good, 3],
    ["bicep-warning", good, 12],
    ["bicep-lint", good, 4],
    ["bicep-format", bad, 1],
  ]);
  // No compiler has seen the templates: what it only warns of, and how it lays them out, must not stop a deployment.
  expect(found.filter(fails).map(({ rule }) => rule)).toEqual(["bicep-build", "bicep-lint"]);
});

test("the one warning that the published types are to blame for is left out", () => {
  const known =
    'main.bicep(1,2) : Warning BCP037: The property "siteUpdateStrategy" is not allowed on objects of type';
  const other =
    'main.bicep(1,2) : Warning BCP037: The property "siteUpdate" is not allowed on objects of type';
  expect(findingsIn(`${known}\n${other}\n`, "bicep-build")).toHaveLength(1);
});
