import type { Refusal } from "./rules/refusals.ts";

export const ruleNames = [
  "hardening",
  "secret",
  "key-vault",
  "resource-name",
  "publish-path",
  "role-order",
  "change-order",
  "scale-queue",
  "redundancy",
  "role-id",
  "principal-type",
  "least-rights",
  "preview-rights",
  "drift-containers",
  "drift-queues",
  "lifecycle-scope",
  "drift-settings",
  "drift-range",
  "drift-sample",
  "drift-page",
  "drift-events",
  "drift-functions",
  "drift-queries",
  "query",
  "drift-operations",
  "drift-version",
  "drift-host",
  "azd-service",
  "azd-version",
  "remote-build",
  "package",
  "workflow-pin",
  "workflow-secret",
  "workflow-scripts",
  "workflow-permissions",
  "workflow-identity",
  "workflow-commit",
  "workflow-publish",
  "image-base",
  "image-scripts",
] as const;

/** What is wrong: which rule says so, of which file. */
export interface Finding {
  readonly rule: (typeof ruleNames)[number] | Refusal["rule"];
  readonly file: string;
  readonly says: string;
}

export const lineOf = ({ rule, file, says }: Finding): string => `${file}: ${rule}: ${says}`;
