import type { Project } from "../project.ts";
import { roleIds } from "../roles.ts";
import { everyNode, type Finding, findingAt, namedChildren, placeOf, type RuleName } from "../syntax.ts";
import { bodyOf, propertiesOf, propertyAt, stringOf, stringsIn, type Template } from "../template.ts";

/** What each resource must say, in so many words: property path and the values that are right. */
const hardening: Readonly<Record<string, readonly (readonly [path: string, ...right: string[]])[]>> = {
  "Microsoft.Storage/storageAccounts": [
    ["properties.allowSharedKeyAccess", "false"],
    ["properties.allowBlobPublicAccess", "false"],
    ["properties.defaultToOAuthAuthentication", "true"],
    ["properties.allowCrossTenantReplication", "false"],
    ["properties.isLocalUserEnabled", "false"],
    ["properties.supportsHttpsTrafficOnly", "true"],
    ["properties.minimumTlsVersion", "'TLS1_2'", "'TLS1_3'"],
  ],
  "Microsoft.Storage/storageAccounts/blobServices/containers": [["properties.publicAccess", "'None'"]],
  "Microsoft.Web/sites": [
    ["properties.httpsOnly", "true"],
    ["properties.siteConfig.minTlsVersion", "'1.2'", "'1.3'"],
    ["properties.siteConfig.scmMinTlsVersion", "'1.2'", "'1.3'"],
    ["properties.siteConfig.remoteDebuggingEnabled", "false"],
  ],
  "Microsoft.Web/sites/basicPublishingCredentialsPolicies": [["properties.allow", "false"]],
  "Microsoft.Insights/components": [["properties.DisableLocalAuth", "true"]],
};

/** Where people's inputs and results are, what is deleted comes back for a while; the host's own account has none. */
const userDataFile = "infra/modules/dataStorage.bicep";
const userData: typeof hardening = {
  // Or the firewall may block the rules of the life cycle.
  "Microsoft.Storage/storageAccounts": [["properties.networkAcls.bypass", "'AzureServices'"]],
  "Microsoft.Storage/storageAccounts/blobServices": [
    ["properties.deleteRetentionPolicy.enabled", "true"],
    ["properties.containerDeleteRetentionPolicy.enabled", "true"],
    // A version for each beat of a leader.
    ["properties.isVersioningEnabled", "false"],
  ],
};

const secretCalls = /^(list(Keys|AccountSas|ServiceSas|Secrets|ConnectionStrings|Credentials)?)$/;
const secretTexts = /AccountKey=|SharedAccessSignature=|DefaultEndpointsProtocol=|[?&]sig=/;
const endpoints =
  /\b(core\.windows\.net|azurewebsites\.net|(?:blob|queue|table)\.storage\.azure|database\.windows\.net)\b/;
const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Connections by their one name, which wins over the identity of those with `__`. */
const connections = /^(AzureWebJobsStorage|DataStorage)$/;

/** `secret`, `endpoint`, `hardening`, `role-id`, `role-name` and `principal-type`. */
export function security(project: Project): Finding[] {
  return [...project.templates.values()].flatMap((template) => [
    ...secretsAndEndpoints(template),
    ...hardened(template),
    ...roles(project, template),
  ]);
}

function secretsAndEndpoints(template: Template): Finding[] {
  const at = (node: Parameters<typeof placeOf>[1], rule: RuleName, message: string) =>
    findingAt(placeOf(template.file, node), rule, message);
  return [...everyNode(template.root)].flatMap((node) => {
    if (node.type === "call_expression") {
      const called = node.childForFieldName("function");
      const name = called?.type === "member_expression" ? namedChildren(called).at(-1)?.text : called?.text;
      return secretCalls.test(name ?? "")
        ? [at(node, "secret", `${name} reads a key; use an identity and a role`)]
        : [];
    }
    if (node.type === "object")
      return propertiesOf(node)
        .filter(({ key }) => connections.test(key))
        .map(({ key, keyNode }) => at(keyNode, "secret", `${key} as one text would win over the identity`));
    if (node.type !== "string") return [];
    if (secretTexts.test(node.text)) return [at(node, "secret", "a connection string with a key in it")];
    const host = endpoints.exec(node.text)?.[0];
    return host === undefined
      ? []
      : [at(node, "endpoint", `${host} is one cloud's; take it from the resource or from environment()`)];
  });
}

function hardened(template: Template): Finding[] {
  return template.declarations.flatMap((resource) => {
    if (resource.kind !== "resource" || resource.existing) return [];
    const body = bodyOf(resource.value);
    const type = resource.target?.split("@")[0] ?? "";
    const wanted = [
      ...(hardening[type] ?? []),
      ...(template.file === userDataFile ? (userData[type] ?? []) : []),
    ];
    return wanted.flatMap(([path, ...right]) => {
      const value = propertyAt(body, ...path.split("."))?.value;
      if (value !== undefined && right.includes(value.text)) return [];
      const place = value === undefined ? resource.place : placeOf(template.file, value);
      return [findingAt(place, "hardening", `${resource.name}: ${path} must be ${right.join(" or ")}`)];
    });
  });
}

function roles(project: Project, template: Template): Finding[] {
  const findings: Finding[] = [];
  const named = new Set<number>();
  for (const node of everyNode(template.root)) {
    if (node.type === "object") {
      for (const { key, keyNode, value } of propertiesOf(node)) {
        const id = stringOf(value);
        if (id === undefined || !guid.test(id)) continue;
        named.add(value.id);
        const expected = roleIds[key];
        if (expected === undefined) {
          findings.push(
            findingAt(placeOf(template.file, keyNode), "role-name", `${key} is no role of the known table`),
          );
        } else if (expected !== id.toLowerCase()) {
          findings.push(findingAt(placeOf(template.file, value), "role-id", `${key} has the id ${expected}`));
        }
      }
    }
    if (node.type === "subscript_expression") {
      const [base, index] = namedChildren(node);
      const name = stringOf(index);
      const table =
        base?.type === "identifier" ? project.lookUp(template, base.text)?.declaration.value : undefined;
      if (name !== undefined && table?.type === "object" && propertyAt(table, name) === undefined) {
        findings.push(findingAt(placeOf(template.file, node), "role-name", `${base?.text} has no ${name}`));
      }
    }
  }
  for (const node of stringsIn(template.root)) {
    if (!named.has(node.id) && guid.test(stringOf(node) ?? "")) {
      findings.push(
        findingAt(placeOf(template.file, node), "role-id", "an id without its role's name beside it"),
      );
    }
  }
  for (const resource of template.declarations) {
    if (!resource.target?.startsWith("Microsoft.Authorization/roleAssignments@")) continue;
    if (propertyAt(bodyOf(resource.value), "properties", "principalType") !== undefined) continue;
    const says = `${resource.name}: say principalType, or the deployment fails while a new identity is not known everywhere`;
    findings.push(findingAt(resource.place, "principal-type", says));
  }
  return findings;
}
