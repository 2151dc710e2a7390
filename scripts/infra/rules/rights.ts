import type { Finding } from "../finding.ts";
import {
  type Assignment,
  assignmentsOf,
  type Fields,
  fieldsAt,
  listAt,
  nameOf,
  ofType,
  prop,
  type Resource,
  roleAssignments,
} from "../json.ts";
import type { Project } from "../project.ts";
import { roleIds } from "../roles.ts";

/** What an identity must not get, whatever works with more. */
export function rights({ snapshots, templates }: Project): Finding[] {
  const all = [...snapshots.values()].flat();
  return [
    ...[...snapshots].flatMap(([file, resources]) => [
      ...ofRoles(file, resources),
      ...ofApps(file, resources),
      ...(file === bootstrap ? ofPreview(file, resources, all) : []),
    ]),
    ...[...templates].flatMap(([file, template]) => [
      ...idsOf(file, template),
      ...environmentsOf(file, template),
    ]),
  ];
}

const bootstrap = "infra/bootstrap.snapshot.json";
const nameOfRole = (id: string): string | undefined =>
  Object.keys(roleIds).find((name) => roleIds[name] === id);

/** The ids of the templates are those of the published roles of their names. */
function idsOf(file: string, template: Fields): Finding[] {
  const tables = {
    ...fieldsAt(template, "variables", "roles"),
    ...fieldsAt(template, "variables", "deployerRoles"),
  };
  return Object.entries(tables)
    .filter(([name, id]) => roleIds[name] !== id)
    .map(([name, id]) => ({
      rule: "role-id",
      file,
      says: `${name} has the id ${roleIds[name]}, not ${String(id)}`,
    }));
}

function ofRoles(file: string, all: readonly Resource[]): Finding[] {
  const own = ofType(all, "Microsoft.Authorization/roleDefinitions").map(nameOf);
  const untyped = ofType(all, roleAssignments).filter((one) => prop(one, "principalType") === undefined);
  const unknown = assignmentsOf(all).filter(
    ({ roleId }) => nameOfRole(roleId) === undefined && !own.includes(roleId),
  );
  return [
    ...unknown.map(
      ({ roleId }): Finding => ({ rule: "role-id", file, says: `${roleId} is no role of the known table` }),
    ),
    ...untyped.map(({ name }): Finding => {
      const says = `${name}: say principalType, or the deployment fails while a new identity is not known everywhere`;
      return { rule: "principal-type", file, says };
    }),
  ];
}

/** Beside what an identity does with one container or queue: on its host's account, its logs, and for links. */
const readsInputs = "Storage Blob Data Reader";

/**
 * Apps and workers write every container but inputs; nobody has a role that changes data on the whole account; operators write
 * under a condition only. `test/infra/operatorRights.test.ts` runs every command against what operators get.
 */
function ofApps(file: string, all: readonly Resource[]): Finding[] {
  const wrong = (says: string): Finding => ({ rule: "least-rights", file, says });
  const linked = all.some(
    ({ id, type }) =>
      type === "Microsoft.Web/sites/config" &&
      /RESULT_LINKS":"true"/.test(JSON.stringify(all.find((one) => one.id === id))),
  );
  return assignmentsOf(all).flatMap((one: Assignment) => {
    const role = nameOfRole(one.roleId) ?? "";
    const [, container] = /\/containers\/[a-z0-9-]+-([a-z]+)$/.exec(one.scope) ?? [];
    const isApp = one.principal.endsWith("-id");
    const place = one.scope.split("/").slice(-2).join("/");
    if (container !== undefined && isApp) {
      const right = container === "inputs" ? readsInputs : "Storage Blob Data Contributor";
      return role === right ? [] : [wrong(`${one.principal} needs ${right} on ${place}, not ${role}`)];
    }
    if (role === "Storage Blob Delegator" && !linked)
      return [wrong(`${one.principal} signs links where resultLinks is off`)];
    const ofWhole = /\/storageAccounts\/\w+data$/.test(one.scope);
    if (ofWhole && !/Reader$|Delegator$/.test(role))
      return [wrong(`${one.principal} gets ${role} on the whole ${place}`)];
    if (!isApp && role === "Storage Blob Data Contributor" && one.condition === undefined)
      return [wrong(`${one.principal} gets ${role} on ${place} without a condition`)];
    return [];
  });
}

/** What a preview asks for beside the resources themselves. */
const previewed = [
  "Microsoft.Resources/deployments/operations/read",
  "Microsoft.Resources/deployments/operationstatuses/read",
  "Microsoft.Resources/deployments/read",
  "Microsoft.Resources/deployments/validate/action",
  "Microsoft.Resources/deployments/whatIf/action",
  "Microsoft.Resources/subscriptions/resourceGroups/read",
];
const ofBootstrapAlone =
  /^Microsoft\.(Authorization\/roleDefinitions|ManagedIdentity\/.*\/federatedIdentityCredentials)$/;

/**
 * Pull requests run code that nobody has reviewed. Their identity has one role, which reads the types that are deployed, each by its
 * name: a pattern also matches reads of keys and logs.
 */
function ofPreview(file: string, own: readonly Resource[], all: readonly Resource[]): Finding[] {
  const wrong = (says: string): Finding => ({ rule: "preview-rights", file, says });
  const types = new Set(all.map(({ type }) => type).filter((type) => !ofBootstrapAlone.test(type)));
  const needed = new Set([...previewed, ...[...types].map((type) => `${type}/read`)]);
  const [role] = ofType(own, "Microsoft.Authorization/roleDefinitions");
  const given = listAt(role, "properties", "permissions").flatMap((one) =>
    Object.entries(fieldsAt({ one }, "one")).flatMap(([key, actions]) =>
      /^(data)?actions$/i.test(key) ? listAt({ actions }, "actions").map(String) : [],
    ),
  );
  const more = assignmentsOf(own).filter(
    ({ principal, roleId }) => principal.includes("previewer") && roleId !== (role && nameOf(role)),
  );
  return [
    ...given.filter((one) => !needed.has(one)).map((one) => wrong(`${one} is more than a preview needs`)),
    ...[...needed].filter((one) => !given.includes(one)).map((one) => wrong(`a preview needs ${one}`)),
    ...more.map(({ roleId }) =>
      wrong(`the identity of pull requests gets previewRole and no other: ${roleId}`),
    ),
  ];
}

function environmentsOf(file: string, template: Fields): Finding[] {
  const preview = fieldsAt(template, "parameters", "previewEnvironment")["defaultValue"];
  return listAt(template, "parameters", "environments", "defaultValue")
    .filter((one) => one === preview)
    .map((one) => ({
      ...{ rule: "preview-rights", file },
      says: `pull requests run in ${String(one)}, so it cannot be one that deploys`,
    }));
}
