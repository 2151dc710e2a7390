import { ofApps } from "./apps.ts";
import { ofData, ofLogs } from "./others.ts";
import type { Race, Refusal } from "./refusal.ts";
import { identityCredential, ofRights } from "./rights.ts";

export const refusals: readonly Refusal[] = [...ofApps, ...ofRights, ...ofData, ...ofLogs];

export const races: readonly Race[] = [
  {
    rule: "refused-credential-race",
    by: "ARM",
    code: "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity",
    seen: ["Azure/bicep#10928", "Azure/bicep-registry-modules#1447"],
    on: identityCredential,
  },
  {
    rule: "refused-endpoint-race",
    by: "ARM",
    code: "StorageAccountOperationInProgress",
    seen: ["Azure/bicep-registry-modules#6001", "hashicorp/terraform-provider-azurerm#28112"],
    on: "Microsoft.Network/privateEndpoints",
  },
];
