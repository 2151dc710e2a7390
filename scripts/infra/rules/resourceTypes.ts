import { nearestName } from "../../../packages/cli/doctor/checkSettings.ts";
import type { Project } from "../project.ts";
import { extraFile, parseType, type TypeText } from "../schemas.ts";
import type { Node } from "../syntax.ts";
import {
  type Finding,
  findingAt,
  itemsOf,
  namedChildren,
  placeOf,
  placeOfText,
  type RuleName,
} from "../syntax.ts";
import { bodyOf, propertiesOf, stringOf, type Template } from "../template.ts";

/** Properties that any resource may have and that no type lists. */
const always = new Set(["parent", "scope", "dependsOn"]);
const again = "make infra/schemas.json anew: node scripts/infra/makeSchemas.ts";

/**
 * `resource-type`, `resource-property`, `resource-required`, `resource-value`: every resource against the published types.
 * What an expression yields is not known here, so only what is written out is checked.
 */
export function resourceTypes(project: Project): Finding[] {
  return [
    ...[...project.templates.values()].flatMap((template) => checkTemplate(project, template)),
    ...allowListReasons(project),
  ];
}

function checkTemplate(project: Project, template: Template): Finding[] {
  return template.declarations.flatMap((resource) => {
    if (resource.kind !== "resource") return [];
    const shape = project.schemas.resources[resource.target ?? ""];
    if (shape === undefined) {
      const known = Object.keys(project.schemas.resources).filter(
        (one) => one.split("@")[0] === resource.target?.split("@")[0],
      );
      const hint = known.length > 0 ? `known is ${known.join(", ")}` : again;
      return [
        findingAt(resource.place, "resource-type", `nothing is known about ${resource.target}; ${hint}`),
      ];
    }
    const body = bodyOf(resource.value);
    if (body === undefined) return [];
    return checkerOf(project, template, resource.existing)(shape, body, "", true);
  });
}

/** Makes the two functions that look at an object and at a value of one template. */
function checkerOf(project: Project, template: Template, existing: boolean) {
  const found = (node: Node, rule: RuleName, message: string) =>
    findingAt(placeOf(template.file, node), rule, message);

  function object(shape: string, body: Node, path: string, top: boolean): Finding[] {
    const types = project.schemas.objects[shape];
    if (types === undefined)
      return [found(body, "resource-type", `nothing is known about ${path || shape}; ${again}`)];
    const given = propertiesOf(body);
    const has = (name: string) => given.some(({ key }) => key === name);
    const findings = given.flatMap(({ key, keyNode, value: inner }) => {
      if (key === "*" || (top && always.has(key))) return [];
      const type = types[key];
      if (type !== undefined) return value(parseType(type), inner, `${path}${key}`);
      const near = nearestName(key, Object.keys(types));
      const hint = near === undefined ? "" : `; is ${near} meant?`;
      return [
        found(keyNode, "resource-property", `${path}${key} is no property that can be set here${hint}`),
      ];
    });
    if (existing || has("*")) return findings;
    const missing = Object.keys(types).filter((key) => parseType(types[key] ?? "").required && !has(key));
    return [
      ...findings,
      ...missing
        .filter((key) => !(top && key === "location" && has("parent")))
        .map((key) => found(body, "resource-required", `${path}${key} is required`)),
    ];
  }

  function value(type: TypeText, node: Node, path: string): Finding[] {
    if (type.primitive === "*") return [];
    const wrong = (says: string) => [found(node, "resource-value", `${path} is ${says}`)];
    const within = (inner: Node | null | undefined, of = type) => (inner ? value(of, inner, path) : []);
    const item = { ...type, list: false };
    switch (node.type) {
      case "parenthesized_expression":
        return within(namedChildren(node)[0]);
      case "ternary_expression":
        return [
          ...within(node.childForFieldName("consequence")),
          ...within(node.childForFieldName("alternative")),
        ];
      case "array":
        return type.list ? itemsOf(node).flatMap((one) => within(one, item)) : wrong("no list");
      case "for_statement": {
        const body = node.childForFieldName("body");
        return within(body === null ? null : (bodyOf(body) ?? body), item);
      }
      case "object":
        if (type.list) return wrong("a list, not an object");
        return type.object === undefined ? wrong("no object") : object(type.object, node, `${path}.`, false);
      case "identifier":
        return parameter(type, node, path);
      case "string":
      case "number":
      case "boolean":
        return plain(type, node, path);
      default:
        return [];
    }
  }

  function plain(type: TypeText, node: Node, path: string): Finding[] {
    const wrong = (expected: string) => [
      found(node, "resource-value", `${path} is ${node.text.slice(0, 40)}; ${expected} is expected`),
    ];
    if (type.list) return wrong("a list");
    if (type.object !== undefined) return wrong("an object");
    if (type.primitive !== undefined) {
      const fitting = { string: "string", int: "number", bool: "boolean", "*": node.type }[type.primitive];
      return fitting === node.type ? [] : wrong(type.primitive);
    }
    if (node.type === "string" && stringOf(node) === undefined) return [];
    return type.words.includes(stringOf(node) ?? "") ? [] : wrong(type.words.join(" | "));
  }

  /** Each value that a parameter may have must fit. */
  function parameter(type: TypeText, node: Node, path: string): Finding[] {
    const declared = template.declarations.find((one) => one.kind === "param" && one.name === node.text);
    const [allowed] = declared?.decorators.get("allowed") ?? [];
    if (allowed?.type !== "array" || type.words.length === 0) return [];
    return itemsOf(allowed).flatMap((one) => plain(type, one, path));
  }

  return object;
}

/** What is described by hand says why, and goes when no template needs it any more. */
function allowListReasons({ files, templates }: Project): Finding[] {
  const text = files.get(extraFile) ?? "{}";
  const extra = JSON.parse(text) as { reasons?: object; resources?: object; objects?: object };
  const reasons = Object.keys(extra.reasons ?? {});
  const used = new Set(
    [...templates.values()].flatMap((one) => one.declarations.map(({ target }) => target ?? "")),
  );
  const tell = (about: string, says: string) =>
    findingAt(placeOfText(extraFile, text, about), "allow-list", says);
  // `Microsoft.Web/sites FunctionAppConfig` adds to an object that the tool does know.
  const added = Object.keys(extra.objects ?? {}).filter((name) => /^Microsoft\.\S+ (?!\(body\))/.test(name));
  return [
    ...[...Object.keys(extra.resources ?? {}), ...added]
      .filter((name) => !reasons.includes(name.split("@")[0] ?? ""))
      .map((name) => tell(name, `${name} needs a reason`)),
    ...Object.keys(extra.resources ?? {})
      .filter((name) => !used.has(name))
      .map((name) => tell(name, `no template uses ${name}`)),
  ];
}
