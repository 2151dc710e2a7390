import type { Finding } from "../finding.ts";
import {
  assignmentsOf,
  at,
  fieldsAt,
  isFields,
  listAt,
  nameOf,
  ofType,
  prop,
  type Resource,
  roleAssignments,
} from "../json.ts";
import type { Project } from "../project.ts";
import { offers } from "../regions.ts";

/**
 * What Azure has refused although the published types allow it: each row is a rule of its own in `infra:check`, and has a
 * planted mistake in `test/infra/plants.ts`. `seen` are the threads in which somebody was refused.
 *
 * Not promised: that it is all that Azure refuses. A row is added when somebody has met it.
 */
export interface Refusal {
  readonly rule: `refused-${string}`;
  readonly by: "ARM" | "Entra" | "host";
  readonly code: string;
  /** `Azure/azure-cli#31414`, each an issue or a pull request on github.com. */
  readonly seen: readonly [string, ...string[]];
  /** The type that it is about; any where it is absent. */
  readonly on?: string;
  /** What is wrong with a resource, in words. `page` is what OPERATIONS says. */
  readonly wrong: (one: Resource, all: readonly Resource[], page: string) => readonly string[];
}

export function refused({ snapshots, files }: Project): Finding[] {
  const page = files.get("docs/OPERATIONS.md") ?? "";
  return [...snapshots].flatMap(([file, all]) =>
    all.flatMap((one) =>
      refusals
        .filter(({ on = one.type }) => on === one.type)
        .flatMap(({ rule, by, code, seen: [thread], wrong }) =>
          wrong(one, all, page).map((says) => ({
            ...{ rule, file },
            says: `${says}; ${by} refuses it: ${code} (github.com/${thread.replace("#", "/issues/")})`,
          })),
        ),
    ),
  );
}

const not = (holds: boolean, says: string): string[] => (holds ? [] : [says]);

/**
 * What a site on Flex Consumption may say in `siteConfig`: what Terraform's provider sends for one (hashicorp/
 * terraform-provider-azurerm, ExpandSiteConfigFunctionFlexConsumptionAppV20250501), less the two that a thread calls refused
 * or doubtful (Azure/terraform-azurerm-avm-res-web-site#353, #360).
 */
const flexSiteConfig: ReadonlySet<string> = new Set(
  (
    "acrUseManagedIdentityCreds apiDefinition apiManagementConfig appCommandLine appSettings cors defaultDocuments " +
    "healthCheckPath http20Enabled ipSecurityRestrictions ipSecurityRestrictionsDefaultAction loadBalancing " +
    "managedPipelineMode minTlsVersion numberOfWorkers remoteDebuggingEnabled remoteDebuggingVersion " +
    "scmIpSecurityRestrictions scmIpSecurityRestrictionsDefaultAction scmIpSecurityRestrictionsUseMain scmMinTlsVersion " +
    "vnetRouteAllEnabled webSocketsEnabled"
  ).split(" "),
);

/** Regions in which an app may have fewer than 40 instances at most. */
const fewInstances = new Set(["westeurope", "australiaeast", "westus2"]);
/** What runs Flex Consumption beneath, so it has to be registered as well. */
const beneath: Readonly<Record<string, string>> = { "Microsoft.Web": "Microsoft.App" };
/** Minutes that a window of an alert may have, as the service itself listed them. */
const windows = new Set([5, 10, 15, 30, 45, 60, 120, 180, 240, 300, 360, 1440, 2880]);
const minutesOf = (text: unknown): number => {
  const [, count, unit = ""] = /^PT?(\d+)([MHD])$/.exec(String(text)) ?? [];
  return Number(count) * ({ M: 1, H: 60, D: 1440 }[unit] ?? Number.NaN);
};

const site = "Microsoft.Web/sites";
const alert = "Microsoft.Insights/scheduledQueryRules";
const policy = "Microsoft.Storage/storageAccounts/managementPolicies";
const identityCredential = "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials";

export const refusals: readonly Refusal[] = [
  {
    rule: "refused-site-config",
    by: "ARM",
    code: "51021",
    seen: [
      ...(["Azure/azure-cli#31414", "microsoft/azure-pipelines-tasks#21032"] as const),
      ...["Azure/terraform-azurerm-avm-res-web-site#345", "Azure/azure-functions-host#10643"],
    ],
    on: site,
    wrong: (one) =>
      Object.keys(fieldsAt(one, "properties", "siteConfig"))
        .filter((key) => !flexSiteConfig.has(key))
        .map((key) => `siteConfig.${key}: Flex Consumption does not take it, region by region`),
  },
  {
    // check_flex_app_after_deployment of the Azure CLI and CheckFunctionHostStatusForFlex of Core Tools: with the master key
    // from outside, which the host then refuses (AuthorizationOptionsExtensions). The CLI before azure-cli#33388 never ends.
    rule: "refused-admin-isolation",
    by: "host",
    code: "403",
    seen: ["Azure/azure-functions-host#10422", "Azure/azure-cli#33388"],
    on: site,
    wrong: (one) =>
      not(
        prop(one, "functionsRuntimeAdminIsolationEnabled") !== true,
        "the Azure CLI and Core Tools end a publish by asking /admin of the app",
      ),
  },
  {
    rule: "refused-app-setting",
    by: "ARM",
    code: "51021",
    seen: ["microsoft/vscode-azurefunctions#4142"],
    on: "Microsoft.Web/sites/config",
    wrong: (one) =>
      Object.keys(fieldsAt(one, "properties"))
        .filter((key) => /^(FUNCTIONS_|WEBSITE_|SCM_|ENABLE_ORYX)/.test(key))
        .map((key) => `${key}: Flex Consumption reads it from functionAppConfig`),
  },
  {
    rule: "refused-flex-config",
    by: "ARM",
    code: "BadRequest",
    seen: ["Azure-Samples/azure-functions-flex-consumption-samples#7"],
    on: site,
    wrong: (one) =>
      ["deployment", "runtime", "scaleAndConcurrency"].flatMap((part) =>
        not(isFields(prop(one, "functionAppConfig", part)), `functionAppConfig needs ${part}`),
      ),
  },
  {
    rule: "refused-instance-count",
    by: "ARM",
    code: "BadRequest",
    seen: ["Azure/azure-functions-host#10523", "MicrosoftDocs/azure-docs#128255"],
    on: site,
    wrong: (one) => {
      const most = Number(prop(one, "functionAppConfig", "scaleAndConcurrency", "maximumInstanceCount"));
      const holds = (most >= 40 && most <= 1_000) || fewInstances.has(String(at(one, "location")));
      return not(holds, `at most ${most} instances: below 40 some regions only`);
    },
  },
  {
    rule: "refused-runtime",
    by: "host",
    code: "InternalServerError",
    seen: ["Azure/Azure-Functions#2666"],
    on: site,
    wrong: (one) => {
      const [name, version] = ["name", "version"].map((key) =>
        String(prop(one, "functionAppConfig", "runtime", key)),
      );
      // `az functionapp list-flexconsumption-runtimes` prints these; ARM itself takes any text. 24 runs: azure-functions-host#11828.
      const holds = name === "node" && ["22", "24"].includes(version ?? "");
      return not(holds, `the runtime ${name} ${version} is in no catalog, so no instance starts`);
    },
  },
  {
    rule: "refused-zones",
    by: "ARM",
    code: "400",
    seen: ["Azure/terraform-azurerm-avm-res-web-serverfarm#134"],
    on: "Microsoft.Web/serverfarms",
    wrong: (one) => {
      const region = String(at(one, "location"));
      const holds = prop(one, "zoneRedundant") !== true || offers(region, "Standard_ZRS");
      return not(holds, `${region} has no zones to spread over`);
    },
  },
  {
    rule: "refused-container-size",
    by: "ARM",
    code: "ContainerAppInvalidResourceTotal",
    seen: ["Azure/bicep#14569", "Azure/bicep#10821", "Azure/bicep-types-az#1924"],
    on: "Microsoft.App/containerApps",
    wrong: (one) =>
      listAt(one, "properties", "template", "containers").flatMap((container) => {
        const [cpu, memory] = ["cpu", "memory"].map((key) => at(container, "resources", key));
        const cores = Number(cpu);
        const holds = Number.isInteger(cores * 4) && cores > 0 && cores <= 4 && memory === `${2 * cores}Gi`;
        return not(holds, `${String(cpu)} cores with ${String(memory)}: each has 2Gi`);
      }),
  },
  {
    rule: "refused-registration",
    by: "ARM",
    code: "MissingSubscriptionRegistration",
    seen: ["Azure/azure-cli#33177", "hashicorp/terraform-provider-azurerm#30397"],
    wrong: ({ type }, _all, page) => {
      // Before the first of the ways to deploy, for each of them needs it.
      const before = page.slice(0, page.indexOf("\n## Five commands\n") + 1);
      const [said = ""] = /^Once per subscription register [\s\S]*?\n\n/m.exec(before) ?? [];
      const own = type.split("/")[0] ?? "";
      return [own, beneath[own] ?? own]
        .filter((name) => name !== "Microsoft.Authorization" && !said.includes(`\`${name}\``))
        .map((name) => `docs/OPERATIONS.md does not say before "Five commands" to register ${name}`);
    },
  },
  {
    rule: "refused-subject",
    by: "Entra",
    code: "AADSTS700213",
    seen: ["Azure/azure-dev#9382", "Azure/azure-dev#9430", "Azure/login#635", "Azure/login#515"],
    on: identityCredential,
    wrong: (one) => {
      // The prefix of infra/bootstrap.bicepparam.
      const subject = String(prop(one, "subject"));
      const prefix = "repo:OWNER@1/NAME@2:environment:";
      return not(subject.startsWith(prefix), `${subject} is not how GitHub's tokens begin: ${prefix}`);
    },
  },
  {
    rule: "refused-subject-twice",
    by: "ARM",
    code: "Issuer and subject combination already exists for this Managed Identity",
    seen: ["Azure/bicep-types-az#2029"],
    on: identityCredential,
    wrong: (one, all) => {
      const parent = ({ name }: Resource) => name.split("/")[0];
      const twin = ofType(all, one.type).find(
        (other) =>
          other !== one && parent(other) === parent(one) && prop(other, "subject") === prop(one, "subject"),
      );
      return not(twin === undefined, `${one.name} has the subject of another`);
    },
  },
  {
    rule: "refused-role-change",
    by: "ARM",
    code: "RoleAssignmentUpdateNotPermitted",
    seen: ["Azure-Samples/graphrag-accelerator#168", "Azure/acs-engine#2916", "Azure/bicep#5831"],
    on: roleAssignments,
    wrong: (one) => {
      const principal = String(prop(one, "principalId")).replace(/^\[|\]$/g, "");
      // A name without an expression is a guid of what the compiler knows, a principal's id among it.
      const holds = !one.name.startsWith("[") || one.name.includes(principal);
      return not(
        holds,
        `the name ${one.name} lacks its principal: an identity that is made anew meets the old assignment`,
      );
    },
  },
  {
    rule: "refused-role-twice",
    by: "ARM",
    code: "RoleAssignmentExists",
    seen: ["Azure/bicep#19936", "Azure/bicep#18454"],
    on: roleAssignments,
    wrong: (one, all) => {
      const [own] = assignmentsOf([one]);
      const same = assignmentsOf(all).filter(
        ({ scope, roleId, principal }) =>
          scope === own?.scope && roleId === own.roleId && principal === own.principal,
      );
      return not(same.length === 1, `${own?.principal} has a role twice on ${own?.scope}`);
    },
  },
  {
    rule: "refused-policy-name",
    by: "ARM",
    code: "404",
    seen: ["Azure/bicep#17199", "Azure/bicep-types-az#2344"],
    on: policy,
    wrong: (one) => not(nameOf(one) === "default", `a policy must be called default, not ${nameOf(one)}`),
  },
  {
    rule: "refused-policy-filter",
    by: "ARM",
    code: "InvalidManagementPolicyRule",
    seen: ["Azure/bicep-registry-modules#6359"],
    on: policy,
    wrong: (one) =>
      listAt(one, "properties", "policy", "rules").flatMap((rule) =>
        not(isFields(at(rule, "definition", "filters")), "a rule needs filters"),
      ),
  },
  {
    rule: "refused-subnet",
    by: "ARM",
    code: "BadRequest",
    seen: ["MicrosoftDocs/azure-docs#123860", "Azure/terraform-provider-azapi#625"],
    on: "Microsoft.Network/virtualNetworks/subnets",
    wrong: (one) => {
      const to = listAt(one, "properties", "delegations").map((each) =>
        at(each, "properties", "serviceName"),
      );
      const holds = to.length === 0 || (to[0] === "Microsoft.App/environments" && !nameOf(one).includes("_"));
      return not(
        holds,
        `${one.name}: a subnet of apps is delegated to Microsoft.App/environments, without _ in its name`,
      );
    },
  },
  {
    rule: "refused-subnet-list",
    by: "ARM",
    code: "InUseSubnetCannotBeDeleted",
    seen: ["microsoft/finops-toolkit#2231", "Azure/bicep#4653", "Azure/bicep#12540"],
    on: "Microsoft.Network/virtualNetworks",
    wrong: (one) =>
      not(
        prop(one, "subnets") === undefined,
        "subnets that are listed here are all there may be: a deployment deletes any other, or ends where it is in use",
      ),
  },
  {
    rule: "refused-alert-window",
    by: "ARM",
    code: "BadRequest",
    seen: ["Azure/azure-rest-api-specs#21258"],
    on: alert,
    wrong: (one) =>
      ["evaluationFrequency", "windowSize", "overrideQueryTimeRange"].flatMap((key) => {
        const given = prop(one, key);
        const says = `${one.name}: ${key} ${String(given)} is none of ${[...windows].join(", ")} minutes`;
        return not(windows.has(minutesOf(given)), says);
      }),
  },
  {
    rule: "refused-alert-mute",
    by: "ARM",
    code: "InvalidRequestContent",
    seen: ["Azure/azure-cli#26581", "Azure/azure-resource-manager-schemas#1753"],
    on: alert,
    wrong: (one) => {
      const periods = listAt(one, "properties", "criteria", "allOf").flatMap((each) =>
        ["numberOfEvaluationPeriods", "minFailingPeriodsToAlert"].map((key) =>
          at(each, "failingPeriods", key),
        ),
      );
      return [
        ...not(
          prop(one, "muteActionsDuration") === undefined,
          "an alert that ends by itself cannot be muted",
        ),
        ...not(
          periods.every((count) => Number(count) >= 1),
          "periods begin with 1",
        ),
      ];
    },
  },
  {
    rule: "refused-log-cap",
    by: "ARM",
    code: "BadRequest",
    seen: ["Azure/bicep#13669"],
    on: "Microsoft.OperationalInsights/workspaces",
    wrong: (one) => {
      const cap = Number(prop(one, "workspaceCapping", "dailyQuotaGb"));
      return not(cap === -1 || cap >= 0.023, `a cap of ${cap} GB: -1 is none, 0.023 the least`);
    },
  },
];
