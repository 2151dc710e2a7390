import { DefaultAzureCredential, type TokenCredential } from "@azure/identity";

/**
 * The sign-in that a person's machine has: environment, workload or managed identity, Azure CLI and so on, in the
 * order of `DefaultAzureCredential`. Import this file only when needed; the library behind it is large.
 */
export const signedInCredential = (): TokenCredential => new DefaultAzureCredential();
