import { at, isFields } from "../evaluate/values.ts";
import { offers } from "../regions.ts";
import { itemsOf, keysOf, not, prop, type Refusal } from "./refusal.ts";

const site = "Microsoft.Web/sites";

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

/** Plans, apps and their settings on Flex Consumption. */
export const ofApps: readonly Refusal[] = [
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
      keysOf(prop(one, "siteConfig"))
        .filter((key) => !flexSiteConfig.has(key))
        .map((key) => [`siteConfig.${key}: Flex Consumption does not take it, region by region`, `${key}:`]),
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
        "functionsRuntimeAdminIsolationEnabled:",
      ),
  },
  {
    rule: "refused-app-setting",
    by: "ARM",
    code: "51021",
    seen: ["microsoft/vscode-azurefunctions#4142"],
    on: "Microsoft.Web/sites/config",
    wrong: (one) =>
      (one.name === "appsettings" ? keysOf(prop(one)) : [])
        .filter((key) => /^(FUNCTIONS_|WEBSITE_|SCM_|ENABLE_ORYX)/.test(key))
        .map((key) => [`${key}: Flex Consumption reads it from functionAppConfig`, key]),
  },
  {
    rule: "refused-flex-config",
    by: "ARM",
    code: "BadRequest",
    seen: ["Azure-Samples/azure-functions-flex-consumption-samples#7"],
    on: site,
    wrong: (one) =>
      ["deployment", "runtime", "scaleAndConcurrency"].flatMap((part) =>
        not(isFields(prop(one, "functionAppConfig", part)), `functionAppConfig needs ${part}`, "siteConfig:"),
      ),
  },
  {
    rule: "refused-instance-size",
    by: "ARM",
    code: "BadRequest",
    seen: ["Azure/azure-rest-api-specs#40898"],
    on: site,
    wrong: (one) => {
      const size = Number(prop(one, "functionAppConfig", "scaleAndConcurrency", "instanceMemoryMB"));
      const says = `an instance of ${size} MB: sizes are 512 (refused in some regions until March 2026), 2048 and 4096`;
      return not([512, 2048, 4096].includes(size), says, "instanceMemoryMB:");
    },
  },
  {
    rule: "refused-instance-count",
    by: "ARM",
    code: "BadRequest",
    seen: ["Azure/azure-functions-host#10523", "MicrosoftDocs/azure-docs#128255"],
    on: site,
    wrong: (one) => {
      const most = Number(prop(one, "functionAppConfig", "scaleAndConcurrency", "maximumInstanceCount"));
      const holds = (most >= 40 && most <= 1_000) || fewInstances.has(String(at(one.body, "location")));
      return not(holds, `at most ${most} instances: below 40 some regions only`, "maximumInstanceCount:");
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
        prop(one, "functionAppConfig", "runtime", key),
      );
      // `az functionapp list-flexconsumption-runtimes` prints these; ARM itself takes any text. 24 runs: azure-functions-host#11828.
      const holds = name === "node" && ["22", "24"].includes(String(version));
      return not(holds, `the runtime ${name} ${version} is in no catalog, so no instance starts`, "runtime:");
    },
  },
  {
    rule: "refused-zones",
    by: "ARM",
    code: "400",
    seen: ["Azure/terraform-azurerm-avm-res-web-serverfarm#134"],
    on: "Microsoft.Web/serverfarms",
    wrong: (one) => {
      const region = String(at(one.body, "location"));
      const holds = prop(one, "zoneRedundant") !== true || offers(region, "Standard_ZRS");
      return not(holds, `${region} has no zones to spread over`, "zoneRedundant:");
    },
  },
  {
    rule: "refused-container-size",
    by: "ARM",
    code: "ContainerAppInvalidResourceTotal",
    seen: ["Azure/bicep#14569", "Azure/bicep#10821", "Azure/bicep-types-az#1924"],
    on: "Microsoft.App/containerApps",
    wrong: (one) =>
      itemsOf(prop(one, "template", "containers")).flatMap((container) => {
        const [cpu, memory] = ["cpu", "memory"].map((key) => at(container, "resources", key));
        const cores = Number(cpu);
        const holds = Number.isInteger(cores * 4) && cores > 0 && cores <= 4 && memory === `${2 * cores}Gi`;
        return not(holds, `${String(cpu)} cores with ${String(memory)}: each has 2Gi`, "cpu:");
      }),
  },
  {
    rule: "refused-registration",
    by: "ARM",
    code: "MissingSubscriptionRegistration",
    seen: ["Azure/azure-cli#33177", "hashicorp/terraform-provider-azurerm#30397"],
    on: "*",
    wrong: ({ type }, { page }) => {
      // Before the first of the ways to deploy, for each of them needs it.
      const [before = ""] = page.split(/^## Five commands$/m);
      const [said = ""] = /^Once per subscription register [\s\S]*?\n\n/m.exec(before) ?? [];
      const own = type.split("/")[0] ?? "";
      return [own, beneath[own] ?? own]
        .filter((name) => name !== "Microsoft.Authorization" && !said.includes(`\`${name}\``))
        .map((name) => [`docs/DEPLOY.md does not say before "Five commands" to register ${name}`, own]);
    },
  },
];
