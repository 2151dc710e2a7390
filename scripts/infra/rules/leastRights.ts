import type { Project } from "../project.ts";
import type { Node } from "../syntax.ts";
import { type Finding, findingAt, itemsOf, placeOf, placeOfText, type RuleName } from "../syntax.ts";
import { bodyOf, type Declaration, propertiesOf, propertyAt, stringOf, type Template } from "../template.ts";
import { find, sharedFile } from "./driftSettings.ts";

/** What an identity must not get, whatever works with more: `least-rights`, `preview-rights`, `workflow-identity`. */
export function leastRights(project: Project): Finding[] {
  return [
    ...appRights(project),
    ...steerRights(project),
    ...linkRights(project),
    ...previewRights(project),
    ...workflowJobs(project),
  ];
}

const reader = "Storage Blob Data Reader";
const contributor = "Storage Blob Data Contributor";

/** An app reads inputs and writes the rest, container by container. */
function appRights(project: Project): Finding[] {
  const table = tableOf(project, "appContainerRoles").flatMap(({ key, value, at }) => {
    const right = key === "inputs" ? reader : contributor;
    return value === right ? [] : [at("least-rights", `${key}: an app needs ${right} there, not ${value}`)];
  });
  // The account of the host is the app's own.
  const past = assignmentsOf(project.templates.get("infra/modules/appRoles.bicep")).filter(
    ({ value }) =>
      propertyAt(bodyOf(value), "scope")?.value.text !== "hostStorage" &&
      (propertyAt(bodyOf(value), "properties", "roleDefinitionId")?.value.text ?? "").includes(
        "'Storage Blob Data",
      ),
  );
  return [
    ...table,
    ...past.map(({ name, place }) =>
      findingAt(place, "least-rights", `${name}: take the role from appContainerRoles`),
    ),
  ];
}

/** Who signs links lets others read without a sign-in: a deployment asks for that. */
function linkRights({ templates }: Project): Finding[] {
  return [...templates.values()].flatMap((template) =>
    assignmentsOf(template)
      .filter(
        ({ value }) =>
          value?.text.includes("'Storage Blob Delegator'") && !value.text.startsWith("if (resultLinks)"),
      )
      .map(({ name, place }) => findingAt(place, "least-rights", `${name}: only where resultLinks is on`)),
  );
}

/** Paths that the commands write; with any other, who steers could forge partials, results or the lease. */
const steered: Readonly<Record<string, string>> = { active: "*", inputs: "*", runs: "*/spec.json" };
/** Containers in which the commands replace nothing. */
const onlyCreated = new Set(["runs"]);
/** Queues that the commands send to; `test/infra/operatorRights.test.ts` runs each command against these roles. */
const sentTo = new Set(["urgent", "wake"]);

function steerRights(project: Project): Finding[] {
  const paths = tableOf(project, "steerPaths").flatMap(({ key, value, at }) =>
    steered[key] === value
      ? []
      : [at("least-rights", `${key}: ${value} is nothing that steering runs writes`)],
  );
  const declared = find(project, sharedFile, "steerQueues")?.value;
  const queues = (declared === undefined ? [] : itemsOf(declared))
    .filter((one) => !sentTo.has(stringOf(one) ?? ""))
    .map((one) =>
      findingAt(placeOf(sharedFile, one), "least-rights", `${one.text}: no command sends messages there`),
    );
  const template = project.templates.get("infra/modules/operatorRoles.bicep");
  const creates = find(project, sharedFile, "steerCreates")?.value;
  const created = new Set((creates === undefined ? [] : itemsOf(creates)).map(stringOf));
  const replaced = tableOf(project, "steerPaths")
    .filter(({ key }) => onlyCreated.has(key) && !created.has(key))
    .map(({ key, at }) => at("least-rights", `${key}: steering only creates there, so steerCreates has it`));
  const bare = assignmentsOf(template).filter((one) => {
    const body = bodyOf(one.value);
    if (!body?.text.includes("Contributor")) return false;
    const condition = propertyAt(body, "properties", "condition")?.value.text ?? "";
    return !["blobs/delete", "steerCreates", "blobs/add/action", "StringLike"].every((part) =>
      condition.includes(part),
    );
  });
  return [
    ...paths,
    ...replaced,
    ...queues,
    ...bare.map(({ name, place }) =>
      findingAt(
        place,
        "least-rights",
        `${name}: Contributor needs a condition on what is written and deleted`,
      ),
    ),
  ];
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
const bootstrapFile = "infra/bootstrap.bicep";

/** Reads the types that the template deploys, each by its name: a pattern also matches reads of keys and logs. */
function previewActions({ templates }: Project): ReadonlySet<string> {
  const types = [...templates.values()]
    .filter(({ file }) => file !== bootstrapFile)
    .flatMap(({ declarations }) => declarations)
    .flatMap(({ kind, target }) =>
      kind === "resource" && target !== undefined ? [target.split("@")[0]] : [],
    );
  return new Set([...previewed, ...types.map((type) => `${type}/read`)]);
}

/** Pull requests run code that nobody has reviewed, so their identity has one role, which can change nothing. */
function previewRights(project: Project): Finding[] {
  const template = project.templates.get(bootstrapFile);
  if (template === undefined) return [];
  const needed = previewActions(project);
  const named = (name: string) => template.declarations.find((one) => one.name === name);
  const role = bodyOf(named("previewRole")?.value);
  const permissions = propertyAt(role, "properties", "permissions")?.value;
  const given = permissions === undefined ? [] : itemsOf(permissions).flatMap((one) => propertiesOf(one));
  const actions = given
    .filter(({ key }) => /^(data)?actions$/i.test(key))
    .flatMap(({ value }) => itemsOf(value));
  const listed = new Set(actions.map(stringOf));
  const environment = stringOf(named("previewEnvironment")?.value);
  const deploying = named("environments")?.value;
  return [
    ...actions
      .filter((one) => !needed.has(stringOf(one) ?? ""))
      .map((one) => at(template, one, `${one.text} is more than a preview needs`)),
    ...[...needed]
      .filter((one) => permissions !== undefined && !listed.has(one))
      .map((one) => at(template, permissions as Node, `a preview needs ${one}`)),
    ...(deploying === undefined ? [] : itemsOf(deploying))
      .filter((one) => stringOf(one) === environment)
      .map((one) =>
        at(template, one, "pull requests run in this environment, so it cannot be one that deploys"),
      ),
  ];
}

const at = (template: Template, node: Node, says: string): Finding =>
  findingAt(placeOf(template.file, node), "preview-rights", says);

/** The identity that deploys is for jobs in `production`, which no pull request starts. */
function workflowJobs({ files }: Project): Finding[] {
  return [...files].flatMap(([file, text]) => {
    if (!file.startsWith(".github/workflows/")) return [];
    return (text.split(/^jobs:$/m)[1] ?? "").split(/^(?= {2}[\w-]+:$)/m).flatMap((job) => {
      const says = (message: string) => [
        findingAt(placeOfText(file, text, job.trim().split("\n")[0] ?? ""), "workflow-identity", message),
      ];
      const onPulls = /event_name == 'pull_request'/.test(job) || /environment: preview$/m.test(job);
      if (onPulls && /vars\.AZURE_CLIENT_ID/.test(job))
        return says("a pull request would hold the identity that deploys");
      if (onPulls && /environment: production$/m.test(job))
        return says("a pull request would run in production");
      if (/vars\.AZURE_CLIENT_ID \}\}/.test(job) && !/environment: production$/m.test(job))
        return says("what deploys runs in the environment production");
      return [];
    });
  });
}

const assignmentsOf = (template: Template | undefined): readonly Declaration[] =>
  (template?.declarations ?? []).filter((one) =>
    one.target?.startsWith("Microsoft.Authorization/roleAssignments@"),
  );

/** The entries of an object of texts in the shared file. */
function tableOf(project: Project, name: string) {
  const table = find(project, sharedFile, name)?.value;
  return (table === undefined ? [] : propertiesOf(table)).map(({ key, keyNode, value }) => ({
    key,
    value: stringOf(value) ?? value.text,
    at: (rule: RuleName, says: string) => findingAt(placeOf(sharedFile, keyNode), rule, says),
  }));
}
