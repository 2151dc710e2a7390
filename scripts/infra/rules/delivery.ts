import { all } from "../facts.ts";
import { duckdbBinary, ignoredBy, ignoredByCoreTools, installDuckdb } from "../makePackage.ts";
import type { Project } from "../project.ts";
import { type Finding, findingAt, placeOfText, type RuleName } from "../syntax.ts";

/** What a package is, besides the bundle. */
const packaged = ["host.json", "package.json", "dist"];

/**
 * The way to Azure: `azd-service`, `azd-version`, `remote-build`, `package`, `workflow-pin`, `workflow-secret`, `workflow-scripts` and
 * `workflow-permissions`.
 * `rootNames` are the files and folders at the root.
 */
export function delivery(project: Project, rootNames: readonly string[]): Finding[] {
  return [
    ...azd(project),
    ...packageFiles(project, rootNames),
    ...workflows(project),
    ...published(project),
    ...bicepVersions(project),
    ...duckdbVersion(project),
  ];
}

/** On a machine that is not Linux on x64, azd and Core Tools publish without DuckDB, and tell nobody. */
function duckdbVersion({ files }: Project): Finding[] {
  const file = "docs/DEPLOY.md";
  const install = installDuckdb(files.get("package.json") ?? "{}");
  const text = files.get(file) ?? "";
  const place = placeOfText(file, text, "node-bindings-linux-x64");
  return text.includes(`\`${install}\``) ? [] : [findingAt(place, "drift-version", `say \`${install}\``)];
}

/** A workflow that publishes waits until the app answers with the commit: the version may be that of the old code. */
function published({ files }: Project): Finding[] {
  return [...files].flatMap(([file, text]) => {
    if (!file.startsWith(".github/workflows/") || !/functions-action@/.test(text)) return [];
    const place = placeOfText(file, text, "functions-action@");
    const waits = /\.commit\b/.test(text) && /= "\$GITHUB_SHA" \]/.test(text);
    const skips = /if: steps\.\w+\.outputs\.commit != github\.sha/.test(text);
    return [
      ...(waits ? [] : [findingAt(place, "workflow-commit", "wait until the app answers with GITHUB_SHA")]),
      ...(skips
        ? []
        : [
            findingAt(
              place,
              "workflow-commit",
              "do not publish the commit that runs already: it restarts the app",
            ),
          ]),
    ];
  });
}

const fixedBicep = /bicep install --version v\d+\.\d+\.\d+/;

/** One job of the project runs Bicep's own linter, for here there is none; it and those that deploy fix the version. */
function bicepVersions({ files }: Project): Finding[] {
  const file = ".github/workflows/test.yml";
  const text = files.get(file) ?? "";
  const found = fixedBicep.test(text) && /bicep lint --file infra\/main\.bicep/.test(text);
  const says = "a job must run `az bicep lint --file infra/main.bicep` with a fixed version";
  const deploy = ".github/workflows/deploy.yml";
  const jobs = (files.get(deploy) ?? "").split(/^(?= {2}[\w-]+:$)/m);
  const loose = jobs.filter((job) => job.includes("--template-file") && !fixedBicep.test(job));
  return [
    ...(found ? [] : [findingAt({ file, line: 1, column: 1 }, "workflow-bicep", says)]),
    ...loose.map((job) => {
      const place = placeOfText(deploy, files.get(deploy) ?? "", job);
      return findingAt(
        place,
        "workflow-bicep",
        "a job that builds templates must install a fixed version of Bicep",
      );
    }),
  ];
}

/** The changelog of azd (Azure/azure-dev, cli/azd/CHANGELOG.md): pull requests 6748, 7223 and 7311. */
const azdAtLeast = [1, 23, 13];

function azd({ files, templates }: Project): Finding[] {
  const file = "azure.yaml";
  const text = (files.get(file) ?? "").replace(/^\s*#.*$/gm, "");
  const at = (about: string, rule: RuleName, says: string) =>
    findingAt(placeOfText(file, text, about), rule, says);
  const services = all(text.split(/^services:$/m)[1]?.split(/^\w/m)[0] ?? "", /^ {2}(\w+):$/gm);
  const tags = all(templates.get("infra/main.bicep")?.root.text ?? "", /serviceName: (.*)/g).join(" ");
  const findings = services
    .filter((name) => !new RegExp(`'${name}'`).test(tags) && !/^app\d+$/.test(name))
    .map((name) => at(`${name}:`, "azd-service", `no resource has the tag azd-service-name: ${name}`));
  if (services.length === 0) findings.push(at("services", "azd-service", "there is no service"));
  if (all(text, /(remoteBuild: false)/g).length < services.length) {
    findings.push(
      at(
        "services",
        "remote-build",
        "say remoteBuild: false; azd would build the bundle again without its sources",
      ),
    );
  }
  const least = /^requiredVersions:\n {2}azd: ">= (\d+)\.(\d+)\.(\d+)"$/m.exec(text)?.slice(1).map(Number);
  const weight = (parts: readonly number[]) => parts.reduce((sum, part) => sum * 1_000 + part, 0);
  if (least === undefined || weight(least) < weight(azdAtLeast)) {
    const says = `requiredVersions: azd must be at least ${azdAtLeast.join(".")}, which takes remoteBuild and .funcignore as meant`;
    findings.push(at("requiredVersions", "azd-version", says));
  }
  if (ignoredBy(files.get(".funcignore") ?? "")("node_modules")) {
    const says = "azd refuses remoteBuild: false where .funcignore names node_modules; name node_modules/*";
    findings.push(
      findingAt(
        placeOfText(".funcignore", files.get(".funcignore") ?? "", "node_modules"),
        "remote-build",
        says,
      ),
    );
  }
  const given = "infra/main.parameters.json";
  const values = files.get(given) ?? "";
  if (!/"environmentName": \{ "value": "\$\{AZURE_ENV_NAME\}" \}/.test(values)) {
    const says =
      "azd finds what it deployed by the tag azd-env-name: environmentName must be ${AZURE_ENV_NAME}";
    findings.push(findingAt(placeOfText(given, values, '"environmentName"'), "azd-service", says));
  }
  if (!/^ {2}path: infra$/m.test(text) || !/^ {2}module: main$/m.test(text)) {
    findings.push(at("infra", "azd-service", "infra/main.bicep is not what azd deploys"));
  }
  return findings;
}

/** The package holds host.json, package.json and the bundle: everything else is named in `.funcignore`. */
function packageFiles({ files, facts }: Project, rootNames: readonly string[]): Finding[] {
  const file = ".funcignore";
  const text = files.get(file) ?? "";
  const matches = ignoredBy(text);
  const at = (about: string, says: string) => findingAt(placeOfText(file, text, about), "package", says);
  const left = (name: string) => matches(name) || matches(`${name}/x`);
  const extra = rootNames.filter((name) => !packaged.includes(name) && !left(name));
  const lostToCoreTools = ignoredByCoreTools(text);
  const kept = [...packaged, facts.own.built, ...facts.bundle.map((name) => `dist/${name}`), duckdbBinary];
  // With a folder all that is in it is left out.
  const above = (name: string) => name.split("/").map((_, i, parts) => parts.slice(0, i + 1).join("/"));
  const lost = kept.filter((name) => above(name).some(matches) || lostToCoreTools(name));
  const built = all(
    files.get("scripts/build.mjs") ?? "",
    /^\s{6}"?([\w-]+)"?: "(?:src|node_modules)\//gm,
  ).map((name) => `${name}.cjs`);
  const folders = all(files.get("scripts/build.mjs") ?? "", /join\(out, "([\w-]+)"/g);
  // Their sources may be there at any time.
  const sources = [facts.own.source, "any.ts", "any.test.mts", ".azure"].filter((name) => !left(name));
  const inDist = [...built, ...folders]
    .filter((name) => !facts.bundle.some((one) => one === name || one.startsWith(`${name}/`)))
    .map((name) => `dist/${name}`);
  return [
    ...sources.map((name) => at("", `${name} would be in the package; it may be there at any time`)),
    ...extra.map((name) => at("", `${name} would be in the package; name it here`)),
    ...inDist
      .filter((name) => !matches(name))
      .map((name) => at("", `${name} would be in the package; name it here`)),
    ...lost.map((name) => at(name, `${name} would be missing in the package`)),
    ...(matches("dist/index.cjs.map") ? [] : [at("", "source maps would be in the package: dist/*.map")]),
  ];
}

function workflows({ files, templates }: Project): Finding[] {
  const runtimes = all(
    templates.get("infra/main.bicep")?.root.text ?? "",
    /param runtimeVersion string = '(\d+)'/g,
  );
  return [...files].flatMap(([file, text]) => {
    if (!file.startsWith(".github/workflows/")) return [];
    return text
      .split("\n")
      .flatMap((line, index): Finding[] => {
        const at = (rule: RuleName, says: string) => [
          findingAt({ file, line: index + 1, column: 1 }, rule, says),
        ];
        const uses = /uses:\s*(\S+)(.*)$/.exec(line);
        if (uses !== null && !/^\S+@[0-9a-f]{40}$/.test(uses[1] ?? ""))
          return at("workflow-pin", `${uses[1]}: pin the commit, all 40 digits`);
        if (uses !== null && !/# v\d+\.\d+\.\d+/.test(uses[2] ?? ""))
          return at("workflow-pin", `${uses[1]}: say its version behind it`);
        if (/\bsecrets\.|publish-profile|creds:/.test(line))
          return at("workflow-secret", "sign in by federation; no secret is stored");
        if (/\bnpm (ci|i|install)\b(?!.*--ignore-scripts)/.test(line.replace(/#.*/, "")))
          return at(
            "workflow-scripts",
            "say --ignore-scripts: an install script fetches what no lockfile hashes",
          );
        const node = /node-version: (\d+)/.exec(line)?.[1];
        if (node !== undefined && !runtimes.includes(node))
          return at("drift-version", `Node ${node} here, ${runtimes} in Azure`);
        return [];
      })
      .concat(
        /^permissions: \{\}$/m.test(text)
          ? []
          : [
              findingAt(
                placeOfText(file, text, "permissions"),
                "workflow-permissions",
                "begin with permissions: {}; each job asks for its own",
              ),
            ],
      );
  });
}
