import { all } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { duckdbBinary, ignoredBy, ignoredByCoreTools, installDuckdb } from "../makePackage.ts";
import type { Project } from "../project.ts";

type Wrong = readonly [Finding["rule"], string];

/** The way to Azure: azd, the package and the workflows. */
export function delivery(project: Project): Finding[] {
  const of = (file: string, wrong: readonly Wrong[]) =>
    wrong.map(([rule, says]): Finding => ({ rule, file, says }));
  return [
    ...of("azure.yaml", azd(project)),
    ...of(".funcignore", packageFiles(project)),
    ...of("Dockerfile", image(project.files.get("Dockerfile") ?? "")),
    ...of("docs/OPERATIONS.md", duckdbVersion(project)),
    ...[...project.files].flatMap(([file, text]) =>
      file.startsWith(".github/workflows/")
        ? of(file, [...lines(project, text), ...jobs(text), ...published(text)])
        : [],
    ),
  ];
}

/** The changelog of azd (Azure/azure-dev, cli/azd/CHANGELOG.md): pull requests 6748, 7223 and 7311. */
const azdAtLeast = [1, 23, 13];

function azd({ files }: Project): Wrong[] {
  const text = (files.get("azure.yaml") ?? "").replace(/^\s*#.*$/gm, "");
  const services = all(text.split(/^services:$/m)[1]?.split(/^\w/m)[0] ?? "", /^ {2}(\w+):$/gm);
  const tags = all(files.get("infra/main.bicep") ?? "", /serviceName: (.*)/g).join(" ");
  const least = /^requiredVersions:\n {2}azd: ">= (\d+)\.(\d+)\.(\d+)"$/m.exec(text)?.slice(1).map(Number);
  const weight = (parts: readonly number[]) => parts.reduce((sum, part) => sum * 1_000 + part, 0);
  const named = /readEnvironmentVariable\('AZURE_ENV_NAME'/.test(files.get("infra/main.bicepparam") ?? "");
  return [
    ...services
      .filter((name) => !new RegExp(`'${name}'`).test(tags) && !/^app\d+$/.test(name))
      .map((name): Wrong => ["azd-service", `no resource has the tag azd-service-name: ${name}`]),
    ...unless(services.length > 0, "azd-service", "there is no service"),
    ...unless(
      /^ {2}path: infra$/m.test(text) && /^ {2}module: main$/m.test(text),
      "azd-service",
      "infra/main.bicep is not what azd deploys",
    ),
    ...unless(
      named,
      "azd-service",
      "azd finds what it deployed by the tag azd-env-name: environmentName must be AZURE_ENV_NAME",
    ),
    ...unless(
      all(text, /(remoteBuild: false)/g).length >= services.length,
      "remote-build",
      "say remoteBuild: false; azd would build the bundle again without its sources",
    ),
    ...unless(
      !ignoredBy(files.get(".funcignore") ?? "")("node_modules"),
      "remote-build",
      "azd refuses remoteBuild: false where .funcignore names node_modules; name node_modules/*",
    ),
    ...unless(
      least !== undefined && weight(least) >= weight(azdAtLeast),
      "azd-version",
      `requiredVersions: azd must be at least ${azdAtLeast.join(".")}, which takes remoteBuild and .funcignore as meant`,
    ),
  ];
}

const unless = (holds: boolean, rule: Wrong[0], says: string): Wrong[] => (holds ? [] : [[rule, says]]);

/** What a package is, besides the bundle. */
const packaged = ["host.json", "package.json", "dist"];

/** The package holds host.json, package.json and the bundle: everything else is named in `.funcignore`. */
function packageFiles({ files, facts, rootNames }: Project): Wrong[] {
  const text = files.get(".funcignore") ?? "";
  const matches = ignoredBy(text);
  const lostToCoreTools = ignoredByCoreTools(text);
  const left = (name: string) => matches(name) || matches(`${name}/x`);
  const kept = [...packaged, facts.own.built, ...facts.bundle.map((name) => `dist/${name}`), duckdbBinary];
  // With a folder all that is in it is left out.
  const above = (name: string) => name.split("/").map((_, i, parts) => parts.slice(0, i + 1).join("/"));
  const build = files.get("scripts/build.mjs") ?? "";
  const built = all(build, /^\s{6}"?([\w-]+)"?: "(?:src|node_modules)\//gm)
    // A module that calculations import is no program.
    .filter((name) => !facts.bundle.includes(`${name}.mjs`))
    .map((name) => `${name}.cjs`);
  const inDist = [...built, ...all(build, /join\(out, "([\w-]+)"/g)]
    .filter((name) => !facts.bundle.some((one) => one === name || one.startsWith(`${name}/`)))
    .map((name) => `dist/${name}`);
  const extra = [
    ...rootNames.filter((name) => !packaged.includes(name) && !left(name)),
    // Their sources may be there at any time.
    ...[facts.own.source, "any.ts", "any.test.mts", ".azure"].filter((name) => !left(name)),
    ...[...inDist, "dist/index.cjs.map"].filter((name) => !matches(name)),
  ];
  const lost = kept.filter((name) => above(name).some(matches) || lostToCoreTools(name));
  return [
    ...extra.map((name): Wrong => ["package", `${name} would be in the package; name it here`]),
    ...lost.map((name): Wrong => ["package", `${name} would be missing in the package`]),
  ];
}

/** On a machine that is not Linux on x64, azd and Core Tools publish without DuckDB, and tell nobody. */
function duckdbVersion({ files }: Project): Wrong[] {
  const install = installDuckdb(files.get("package.json") ?? "{}");
  return unless(
    files.get("docs/OPERATIONS.md")?.includes(`\`${install}\``) === true,
    "drift-version",
    `say \`${install}\``,
  );
}

/** The image of the workers: a tag can be moved, and what npm runs besides is no package's choice. */
function image(text: string): Wrong[] {
  const instructions = text
    .replace(/^\s*#.*\n/gm, "")
    .replaceAll(/\\\n/g, " ")
    .split("\n");
  const stages = all(text, /^FROM\s.*\sAS\s+(\S+)/gim);
  const named = all(text, /^FROM\s+(?:--\S+\s+)*(\S+)/gim).filter((base) => !stages.includes(base));
  // `npm run` would install first, with scripts (scripts/pre.mjs), and npx whatever it is given.
  const commands = instructions.flatMap((one) => (/^RUN\s/i.test(one) ? one.split(/&&|;|\|/) : []));
  const loose = commands.filter(
    (one) => /\b(npm|npx|yarn|pnpm|corepack)\b/.test(one) && !/\bnpm ci\b.*--ignore-scripts/.test(one),
  );
  return [
    ...named
      .filter((base) => !/@sha256:[0-9a-f]{64}$/.test(base))
      .map(
        (base): Wrong => [
          "image-base",
          `${base}: name the base by its digest, @sha256:…; a tag can be moved`,
        ],
      ),
    ...unless(named.length > 0, "image-base", "there is no base"),
    ...loose.map(
      (one): Wrong => ["image-scripts", `${one.trim()}: install by npm ci --ignore-scripts alone`],
    ),
  ];
}

/** What single lines of a workflow must not say. */
function lines({ templates }: Project, text: string): Wrong[] {
  const runtime = templates.get("infra/main.bicep");
  const inAzure = (runtime?.["parameters"] as { runtimeVersion?: { defaultValue?: string } } | undefined)
    ?.runtimeVersion?.defaultValue;
  return [
    ...text.split("\n").flatMap((line): Wrong[] => {
      const [, action = "", behind = ""] = /uses:\s*(\S+)(.*)$/.exec(line) ?? [];
      const node = /node-version: (\d+)/.exec(line)?.[1];
      return [
        ...unless(
          action === "" || (/^\S+@[0-9a-f]{40}$/.test(action) && /# v\d+\.\d+\.\d+/.test(behind)),
          "workflow-pin",
          `${action}: pin the commit, all 40 digits, and say its version behind it`,
        ),
        ...unless(
          !/\bsecrets\.|publish-profile|creds:/.test(line),
          "workflow-secret",
          "sign in by federation; no secret is stored",
        ),
        ...unless(
          !/\bnpm (ci|i|install)\b(?!.*--ignore-scripts)/.test(line.replace(/#.*/, "")),
          "workflow-scripts",
          "say --ignore-scripts: an install script fetches what no lockfile hashes",
        ),
        ...unless(
          node === undefined || inAzure === undefined || node === inAzure,
          "drift-version",
          `Node ${node} here, ${inAzure} in Azure`,
        ),
      ];
    }),
    ...unless(
      /^permissions: \{\}$/m.test(text),
      "workflow-permissions",
      "begin with permissions: {}; each job asks for its own",
    ),
  ];
}

/** The identity that deploys is for jobs in `production`, which no pull request starts. */
function jobs(text: string): Wrong[] {
  return (text.split(/^jobs:$/m)[1] ?? "").split(/^(?= {2}[\w-]+:$)/m).flatMap((job) => {
    const onPulls = /event_name == 'pull_request'/.test(job) || /environment: preview$/m.test(job);
    const deploys = /vars\.AZURE_CLIENT_ID/.test(job);
    const inProduction = /environment: production$/m.test(job);
    return [
      ...unless(
        !(onPulls && deploys),
        "workflow-identity",
        "a pull request would hold the identity that deploys",
      ),
      ...unless(!(onPulls && inProduction), "workflow-identity", "a pull request would run in production"),
      ...unless(
        onPulls || inProduction || !/vars\.AZURE_CLIENT_ID \}\}/.test(job),
        "workflow-identity",
        "what deploys runs in the environment production",
      ),
    ];
  });
}

/** A workflow that publishes waits until the app answers with the commit: the version may be that of the old code. */
function published(text: string): Wrong[] {
  if (!/functions-action@/.test(text)) return [];
  return [
    ...unless(
      /\.commit\b/.test(text) && /= "\$GITHUB_SHA" \]/.test(text),
      "workflow-commit",
      "wait until the app answers with GITHUB_SHA",
    ),
    ...unless(
      /if: steps\.\w+\.outputs\.commit != github\.sha/.test(text),
      "workflow-commit",
      "do not publish the commit that runs already: it restarts the app",
    ),
    ...unless(
      /continue-on-error: true/.test(text) && (text.match(/outcome == 'failure'/g)?.length ?? 0) >= 2,
      "workflow-publish",
      "publish once more after a while: the roles of a new app take minutes to arrive",
    ),
  ];
}
