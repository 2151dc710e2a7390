import { at, isFields } from "../evaluate/values.ts";
import { itemsOf, not, prop, type Refusal } from "./refusal.ts";

const alert = "Microsoft.Insights/scheduledQueryRules";
const policy = "Microsoft.Storage/storageAccounts/managementPolicies";

/** Minutes that a window may have, as the service itself listed them. */
const windows = new Set([5, 10, 15, 30, 45, 60, 120, 180, 240, 300, 360, 1440, 2880]);
const minutesOf = (text: unknown): number => {
  const [, count, unit = ""] = /^PT?(\d+)([MHD])$/.exec(String(text)) ?? [];
  return Number(count) * ({ M: 1, H: 60, D: 1440 }[unit] ?? Number.NaN);
};

/** Data and its network. */
export const ofData: readonly Refusal[] = [
  {
    rule: "refused-policy-name",
    by: "ARM",
    code: "404",
    seen: ["Azure/bicep#17199", "Azure/bicep-types-az#2344"],
    on: policy,
    wrong: (one) =>
      not(one.name === "default", `a policy must be called default, not ${one.name}`, "policy:"),
  },
  {
    rule: "refused-policy-filter",
    by: "ARM",
    code: "InvalidManagementPolicyRule",
    seen: ["Azure/bicep-registry-modules#6359"],
    on: policy,
    wrong: (one) =>
      itemsOf(prop(one, "policy", "rules")).flatMap((rule) =>
        not(isFields(at(rule, "definition", "filters")), "a rule needs filters", "definition:"),
      ),
  },
  {
    rule: "refused-subnet",
    by: "ARM",
    code: "BadRequest",
    seen: ["MicrosoftDocs/azure-docs#123860", "Azure/terraform-provider-azapi#625"],
    on: "Microsoft.Network/virtualNetworks/subnets",
    wrong: (one) => {
      const to = itemsOf(prop(one, "delegations")).map((each) => at(each, "properties", "serviceName"));
      const says = `the subnet ${one.name} of apps must be delegated to Microsoft.App/environments, without _ in its name`;
      const holds = to.length === 0 || (to[0] === "Microsoft.App/environments" && !one.name.includes("_"));
      return not(holds, says, "delegations:");
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
        "subnets:",
      ),
  },
];

/** Logs and alerts. */
export const ofLogs: readonly Refusal[] = [
  {
    rule: "refused-alert-window",
    by: "ARM",
    code: "BadRequest",
    seen: ["Azure/azure-rest-api-specs#21258"],
    on: alert,
    wrong: (one) =>
      ["evaluationFrequency", "windowSize", "overrideQueryTimeRange"].flatMap((key) => {
        const says = `${one.name}: ${key} ${prop(one, key)} is none of ${[...windows].join(", ")} minutes`;
        return not(windows.has(minutesOf(prop(one, key))), says, "resource rules");
      }),
  },
  {
    rule: "refused-alert-mute",
    by: "ARM",
    code: "InvalidRequestContent",
    seen: ["Azure/azure-cli#26581", "Azure/azure-resource-manager-schemas#1753"],
    on: alert,
    wrong: (one) => {
      const periods = itemsOf(prop(one, "criteria", "allOf")).flatMap((each) =>
        ["numberOfEvaluationPeriods", "minFailingPeriodsToAlert"].map((key) =>
          at(each, "failingPeriods", key),
        ),
      );
      return [
        ...not(
          prop(one, "muteActionsDuration") === undefined,
          "an alert that ends by itself cannot be muted",
          "autoMitigate",
        ),
        ...not(
          periods.every((count) => Number(count) >= 1),
          "periods begin with 1",
          "failingPeriods:",
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
      return not(
        cap === -1 || cap >= 0.023,
        `a cap of ${cap} GB: -1 is none, 0.023 the least`,
        "dailyQuotaGb",
      );
    },
  },
  {
    rule: "refused-short-name",
    by: "ARM",
    code: "GroupShortNameIsTooLong",
    seen: ["Azure/azure-rest-api-specs#2840", "Azure/bellhop#72"],
    on: "Microsoft.Insights/actionGroups",
    wrong: (one) =>
      not(
        String(prop(one, "groupShortName")).length <= 12,
        "a short name has 12 characters at most",
        "groupShortName",
      ),
  },
];
