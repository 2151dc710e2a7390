import type { Project } from "../project.ts";
import type { Node } from "../syntax.ts";
import { everyNode, type Finding, findingAt, namedChildren, placeOf, type RuleName } from "../syntax.ts";
import type { Template } from "../template.ts";

/** Functions of Bicep that templates here may call (learn.microsoft.com/azure/azure-resource-manager/bicep/bicep-functions). */
const functions = new Set(
  (
    "any array base64 base64ToString bool cidrHost cidrSubnet coalesce concat contains createArray createObject " +
    "dataUri dateTimeAdd deployer deployment empty endsWith environment extensionResourceId fail filter first flatten " +
    "format groupBy guid indexOf int intersection items join json last lastIndexOf length loadFileAsBase64 " +
    "loadJsonContent loadTextContent loadYamlContent map mapValues max min newGuid object objectKeys padLeft " +
    "parseCidr pickZones range reduce reference replace resourceGroup resourceId shallowMerge skip sort split " +
    "startsWith string subscription subscriptionResourceId substring take tenant tenantResourceId toLogicalZone " +
    "toLower toObject toUpper trim union uniqueString uri uriComponent utcNow"
  ).split(" "),
);
const decorators = new Set(
  (
    "allowed batchSize description discriminator export maxLength maxValue metadata minLength minValue onlyIfNotExists " +
    "sealed secure"
  ).split(" "),
);

/** `unknown-name`, `unknown-function`, `unknown-decorator`, `unused` and `duplicate-name`. */
export function identifiers(project: Project): Finding[] {
  const exported = new Map<string, Set<string>>();
  const found = [...project.templates.values()].flatMap((template) => {
    const { findings, used } = checkFile(project, template);
    for (const one of template.imports) {
      const source = project.resolve(template, one.from);
      if (source === undefined) continue;
      const names = exported.get(source.file) ?? new Set<string>();
      for (const name of one.names) names.add(name);
      exported.set(source.file, names);
    }
    return [...findings, ...unused(template, used)];
  });
  return [...found, ...unusedExports(project, exported)];
}

function checkFile(project: Project, template: Template): { findings: Finding[]; used: Set<string> } {
  const findings: Finding[] = [];
  const used = new Set<string>();
  const declared = new Set<string>();
  for (const { name, kind, place } of template.declarations) {
    if (kind === "output") continue;
    if (declared.has(name)) findings.push(findingAt(place, "duplicate-name", `${name} is declared twice`));
    declared.add(name);
  }
  for (const one of template.imports) {
    const source = project.resolve(template, one.from);
    const place = placeOf(template.file, one.node);
    if (source === undefined) findings.push(findingAt(place, "unknown-file", `there is no ${one.from}`));
    for (const name of one.names) {
      if (declared.has(name))
        findings.push(findingAt(place, "duplicate-name", `${name} is declared and imported`));
      declared.add(name);
      const there = source?.declarations.find((other) => other.name === name);
      if (source !== undefined && !there?.decorators.has("export")) {
        findings.push(findingAt(place, "unknown-name", `${one.from} exports no ${name}`));
      }
    }
  }
  const report = (node: Node, rule: RuleName, message: string) =>
    findings.push(findingAt(placeOf(template.file, node), rule, message));

  const visit = (node: Node, scope: ReadonlySet<string>): void => {
    switch (node.type) {
      case "identifier":
        if (declared.has(node.text)) used.add(node.text);
        else if (!scope.has(node.text)) report(node, "unknown-name", `nothing here is called ${node.text}`);
        return;
      case "decorator": {
        const call = namedChildren(node)[0];
        const name = call?.childForFieldName("function");
        if (name && !decorators.has(name.text))
          report(name, "unknown-decorator", `there is no decorator @${name.text}`);
        const given = call?.childForFieldName("arguments");
        if (given) visit(given, scope);
        return;
      }
      case "call_expression": {
        const called = node.childForFieldName("function");
        const given = node.childForFieldName("arguments");
        if (called?.type === "identifier") {
          if (declared.has(called.text)) used.add(called.text);
          else if (!functions.has(called.text)) {
            report(called, "unknown-function", `there is no function ${called.text}`);
          }
        } else if (called) visit(called, scope);
        if (given) visit(given, scope);
        return;
      }
      case "object_property": {
        const [key, ...values] = namedChildren(node);
        if (key !== undefined && key.type !== "identifier") visit(key, scope);
        for (const value of values) visit(value, scope);
        return;
      }
      case "for_statement": {
        const names = namedChildren(node).flatMap((child) =>
          child.type === "for_loop_parameters" ? namedChildren(child).map((one) => one.text) : [],
        );
        const only = node.childForFieldName("initializer");
        const inner = new Set([...scope, ...names, ...(only ? [only.text] : [])]);
        for (const child of namedChildren(node)) {
          if (child.type !== "for_loop_parameters" && child.id !== only?.id) visit(child, inner);
        }
        return;
      }
      case "array":
        for (const child of namedChildren(node)) {
          // `f(x)` as an item of a list: a name with its arguments right behind it.
          const isCall = node.text[child.endIndex - node.startIndex] === "(" && functions.has(child.text);
          if (!isCall) visit(child, scope);
        }
        return;
      case "arguments": {
        const inner = new Set([...scope, ...lambdaNames(node)]);
        for (const child of namedChildren(node)) visit(child, inner);
        return;
      }
      case "import_functionality":
      case "target_scope_assignment":
      case "compatible_identifier":
        return;
      default: {
        const isDeclaration = node.type.endsWith("_declaration");
        for (const child of namedChildren(node).slice(isDeclaration ? 1 : 0)) visit(child, scope);
      }
    }
  };
  visit(template.root, new Set());
  return { findings, used };
}

/** Names before `=>` in these arguments. The grammar nests what follows oddly, so they hold in all of the arguments. */
const lambdaNames = (given: Node): string[] =>
  [...everyNode(given)].flatMap((node) => {
    if (node.type !== "lambda_expression") return [];
    const [names] = namedChildren(node);
    return names === undefined
      ? []
      : [...everyNode(names)].filter((one) => one.type === "identifier").map((one) => one.text);
  });

function unused(template: Template, used: ReadonlySet<string>): Finding[] {
  const declarations = template.declarations.filter(
    (one) =>
      ["param", "var", "type", "func"].includes(one.kind) &&
      !one.decorators.has("export") &&
      !used.has(one.name),
  );
  const existing = template.declarations.filter((one) => one.existing && !used.has(one.name));
  const imports = template.imports.flatMap((one) =>
    one.names.filter((name) => !used.has(name)).map((name) => ({ name, node: one.node })),
  );
  return [
    ...[...declarations, ...existing].map((one) =>
      findingAt(one.place, "unused", `${one.name} is used nowhere`),
    ),
    ...imports.map((one) =>
      findingAt(placeOf(template.file, one.node), "unused", `${one.name} is imported and used nowhere`),
    ),
  ];
}

function unusedExports(project: Project, exported: ReadonlyMap<string, ReadonlySet<string>>): Finding[] {
  return [...project.templates.values()].flatMap((template) => {
    const own = template.declarations.filter((one) => one.decorators.has("export"));
    const texts = template.declarations.map((one) => one.node.text);
    return own
      .filter((one) => !exported.get(template.file)?.has(one.name))
      .filter((one) => texts.filter((text) => new RegExp(`\\b${one.name}\\b`).test(text)).length < 2)
      .map((one) => findingAt(one.place, "unused", `${one.name} is exported and nobody imports it`));
  });
}
