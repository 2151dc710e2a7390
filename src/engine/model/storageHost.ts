/**
 * The hosts that a token of an identity may be sent to. A token for Azure Storage opens every account of its owner, so it
 * never follows an address that a setting happens to name.
 */

/** Endpoint suffixes of Azure Storage: public cloud, US Government, China, and accounts in DNS zones (learn.microsoft.com, storage-account-overview). */
const azureSuffixes = [
  "core.windows.net",
  "core.usgovcloudapi.net",
  "core.chinacloudapi.cn",
  "storage.azure.net",
] as const;

/**
 * Why no token may be sent to this address; undefined if it may. `more` is a suffix that the user allows on the command
 * line: any host that equals it or ends with it, such as `local.azurestack.external`.
 */
export function whyNoToken(uri: string, service: "blob" | "queue", more?: string): string | undefined {
  if (!URL.canParse(uri)) return "it is no address";
  const { protocol, hostname, username, password } = new URL(uri);
  if (protocol !== "https:") return "an identity needs https";
  if (username !== "" || password !== "") return "an address with a user name is no storage";
  const isAzure = azureSuffixes.some((suffix) => hostname.endsWith(`.${service}.${suffix}`));
  const isAllowed = more !== undefined && (hostname === more || hostname.endsWith(`.${more}`));
  if (isAzure || isAllowed) return undefined;
  return `${hostname} is no ${service} endpoint of Azure Storage; --storage-host SUFFIX allows others`;
}
