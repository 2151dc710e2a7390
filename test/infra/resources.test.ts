import { join } from "node:path";
import { expect, test } from "vitest";
import { deployment, parametersIn } from "../../scripts/infra/evaluate/deployment.ts";
import { at, type Fields, type Resource, Runtime } from "../../scripts/infra/evaluate/values.ts";
import { readFiles, readProject } from "../../scripts/infra/project.ts";
import { roleIds } from "../../scripts/infra/roles.ts";

const files = readFiles();
const { project } = await readProject(files);
const oneRegion = parametersIn(files.get("infra/one-region.parameters.json") ?? "");
const twoRegions = parametersIn(files.get("infra/two-regions.parameters.json") ?? "");

const operator = (access: string): Fields => ({
  operators: [{ principalId: "00000000-0000-0000-0000-000000000001", principalType: "Group", access }],
});
/** The switches of the template that change what is deployed; those of one group exclude each other. */
const switches: readonly (readonly (readonly [name: string, parameters: Fields])[])[] = [
  [["publicHttp off", { publicHttp: false }]],
  [["privateNetwork on", { privateNetwork: true }]],
  [["two regions", { regions: twoRegions["regions"] as Fields }]],
  [["dataSku Standard_GZRS", { dataSku: "Standard_GZRS" }]],
  [["zoneRedundant on", { zoneRedundant: true }]],
  [
    ["operators: read", operator("read")],
    ["operators: steer", operator("steer")],
  ],
  [["resultLinks on", { resultLinks: true, ...operator("read") }]],
  [["monitoring off", { monitoring: false }]],
  [["logStorage on", { logStorage: true }]],
  [["alertEmail", { alertEmail: "a@example.org" }]],
  [["lock on", { lock: true }]],
  [["LEASEFOLD_ENDED_QUEUE", { settings: { LEASEFOLD_ENDED_QUEUE: "ended" } }]],
  [["endedEventsQueue", { endedEventsQueue: "ended" }]],
  [["workerImage", { workerImage: "leasefold:1" }]],
];

/** What of a resource tells one deployment from another, in one line. */
function lineOf({ type, name, id, body }: Resource): string {
  const short = id.replaceAll("unique0000000", "…");
  const of = (...path: string[]) => at(body, "properties", ...path);
  const { scope } = body;
  if (type === "Microsoft.Authorization/roleAssignments") {
    const role = String(of("roleDefinitionId")).split("/").at(-1);
    const principal = of("principalId");
    const who = principal instanceof Runtime ? principal.text.replace(/^lf\w+?-|-id\..*$/g, "") : "operator";
    const what = Object.keys(roleIds).find((one) => roleIds[one] === role);
    const where = short.split("/Microsoft.Authorization/")[0]?.split("/").slice(-2).join("/");
    return `role "${what}"${of("condition") === undefined ? "" : " under a condition"} on ${where} for ${who}`;
  }
  const more: Readonly<Record<string, readonly unknown[]>> = {
    "Microsoft.Storage/storageAccounts": [at(body, "sku", "name"), of("publicNetworkAccess")],
    "Microsoft.Web/sites": [
      of("siteConfig", "ipSecurityRestrictionsDefaultAction"),
      of("virtualNetworkSubnetId") && "in its network",
    ],
    "Microsoft.App/containerApps": [`0 to ${of("template", "scale", "maxReplicas")}`],
    "Microsoft.Web/serverfarms": [of("zoneRedundant") && "over zones"],
    "Microsoft.Web/sites/config": [`${Object.keys((body["properties"] ?? {}) as object).length} settings`],
  };
  const facts = (more[type] ?? []).filter(Boolean).join(", ");
  const shown = scope === undefined ? short : `${name} of ${short.split("/").slice(-6, -3).join("/")}`;
  return `${type === "Microsoft.Insights/workbooks" ? "Microsoft.Insights/workbooks" : shown}${facts && ` (${facts})`}`;
}

const deployed = (parameters: Fields): Set<string> =>
  new Set(deployment(project, { ...oneRegion, ...parameters }).map(lineOf));

const base = deployed({});
const minus = (a: ReadonlySet<string>, b: ReadonlySet<string>) => [...a].filter((one) => !b.has(one));
/** What a deployment has more (+) and less (-) than the one without its switches. */
const change = (set: ReadonlySet<string>): string[] => [
  ...minus(set, base).map((one) => `+ ${one}`),
  ...minus(base, set).map((one) => `- ${one}`),
];

test("what each switch deploys is listed in resources.txt", async () => {
  const sections = switches
    .flat()
    .map(([name, parameters]) => [name, ...change(deployed(parameters))].join("\n"));
  const text = [`default: infra/one-region.parameters.json`, ...[...base].map((one) => `  ${one}`), ""].join(
    "\n",
  );
  await expect(`${text}\n${sections.join("\n\n")}\n`).toMatchFileSnapshot(
    join(import.meta.dirname, "resources.txt"),
  );
});

/** Every combination of the switches: one of each group, or none. */
function* combinations(groups = switches): Generator<readonly (readonly [string, Fields])[]> {
  const [group, ...rest] = groups;
  if (group === undefined) return yield [];
  for (const others of combinations(rest)) {
    yield others;
    for (const one of group) yield [one, ...others];
  }
}

test("every combination of the switches can be deployed, and deploys nothing twice", () => {
  let count = 0;
  for (const chosen of combinations(switches.slice(0, 6))) {
    for (const monitoring of [true, false]) {
      const given: Fields = {
        ...Object.assign({}, ...chosen.map(([, parameters]) => parameters), { monitoring }),
      };
      const ids = deployment(project, { ...oneRegion, ...given }).map(({ id }) => id);
      expect(new Set(ids).size, chosen.map(([name]) => name).join(", ")).toBe(ids.length);
      count += 1;
    }
  }
  expect(count).toBe(2 ** 5 * 3 * 2);
});
