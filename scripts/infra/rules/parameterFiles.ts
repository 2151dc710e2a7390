import { asAzdReads } from "../evaluate/deployment.ts";
import type { Project } from "../project.ts";
import type { Node } from "../syntax.ts";
import { type Finding, findingAt, namedChildren, placeOfText } from "../syntax.ts";
import { type Declaration, propertiesOf, stringOf, type Template } from "../template.ts";
import { numberOf } from "./constraints.ts";
import { nonsense } from "./nonsense.ts";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** `parameter-file`: every value of every parameter file against the types and limits of the main template. */
export function parameterFiles(project: Project): Finding[] {
  const main = project.templates.get("infra/main.bicep");
  if (main === undefined) return [];
  return [...project.files].flatMap(([file, text]) =>
    /^infra\/[^/]+\.parameters\.json$/.test(file) ? checkFile(project, main, file, text) : [],
  );
}

function checkFile(project: Project, main: Template, file: string, text: string): Finding[] {
  const tell = (about: string, message: string) =>
    findingAt(placeOfText(file, text, `"${about}"`), "parameter-file", message);
  let parameters: Record<string, { value?: unknown }>;
  try {
    parameters = (JSON.parse(asAzdReads(text)) as { parameters?: typeof parameters }).parameters ?? {};
  } catch {
    return [tell("", "this is no JSON")];
  }
  const declared = main.declarations.filter((one) => one.kind === "param");
  const findings = declared
    .filter((one) => one.value === undefined && parameters[one.name] === undefined)
    .map((one) => tell("parameters", `the parameter ${one.name} is missing`));
  for (const [name, { value }] of Object.entries(parameters)) {
    const parameter = declared.find((one) => one.name === name);
    if (parameter === undefined) {
      findings.push(tell(name, `infra/main.bicep has no parameter ${name}`));
      continue;
    }
    const wrong = broken(project, main, parameter, parameter.type, value, name);
    findings.push(...wrong.map((message) => tell(name, message)));
  }
  const given = Object.fromEntries(Object.entries(parameters).map(([name, { value }]) => [name, value]));
  return [
    ...findings,
    ...nonsense(given, project.facts).map(({ name, says }) => tell(name, `${name}: ${says}`)),
  ];
}

type Limits = Pick<Declaration, "decorators">;

/** What is wrong with a value of that type, in words; empty if nothing. */
function broken(
  project: Project,
  home: Template,
  limits: Limits,
  type: Node | undefined,
  value: unknown,
  path: string,
): string[] {
  if (type === undefined) return [];
  const inner = namedChildren(type)[0];
  switch (type.type) {
    case "type":
    case "parenthesized_type":
      return broken(project, home, limits, inner, value, path);
    case "nullable_type":
      return value === null || value === undefined ? [] : broken(project, home, limits, inner, value, path);
    case "array_type":
      if (!Array.isArray(value)) return [`${path}: a list is needed`];
      return [
        ...outside(limits, value.length, "Length", `${path}: ${value.length} entries`),
        ...value.flatMap((one, i) => broken(project, home, none, inner, one, `${path}[${i}]`)),
      ];
    case "union_type": {
      const words = namedChildren(type).map((one) => stringOf(namedChildren(one)[0] ?? one) ?? stringOf(one));
      return words.includes(String(value))
        ? []
        : [`${path}: ${JSON.stringify(value)} is none of ${words.join(", ")}`];
    }
    case "primitive_type":
      return primitive(limits, type.text, value, path);
    case "object":
      return members(project, home, type, value, path);
    case "identifier": {
      const found = project.lookUp(home, type.text);
      return found === undefined
        ? []
        : broken(project, found.template, limits, found.declaration.type, value, path);
    }
    default:
      return [];
  }
}

const none: Limits = { decorators: new Map() };

function members(project: Project, home: Template, type: Node, value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return [`${path}: an object is needed`];
  const known = propertiesOf(type);
  const given = value as Record<string, unknown>;
  return [
    ...Object.keys(given)
      .filter((key) => !known.some((one) => one.key === key))
      .map((key) => `${path}: ${key} is not known`),
    ...known.flatMap((one) => {
      const inside = `${path}.${one.key}`;
      const member = given[one.key];
      if (member === undefined) return /\?$/.test(one.value.text) ? [] : [`${inside} is missing`];
      const id =
        one.key === "principalId" && !uuid.test(String(member))
          ? [`${inside}: ${member} is no object id`]
          : [];
      return [...broken(project, home, one, one.value, member, inside), ...id];
    }),
  ];
}

function primitive(limits: Limits, type: string, value: unknown, path: string): string[] {
  const kind = { string: "string", int: "number", bool: "boolean", object: "object", array: "object" }[type];
  if (kind !== undefined && typeof value !== kind) return [`${path}: ${JSON.stringify(value)} is no ${type}`];
  const [allowed] = limits.decorators.get("allowed") ?? [];
  const words =
    allowed === undefined ? undefined : namedChildren(allowed).map((one) => stringOf(one) ?? one.text);
  if (words !== undefined && !words.includes(String(value))) {
    return [`${path}: ${JSON.stringify(value)} is none of ${words.join(", ")}`];
  }
  if (typeof value === "string")
    return outside(limits, value.length, "Length", `${path}: ${value.length} characters`);
  return typeof value === "number" ? outside(limits, value, "Value", `${path}: ${value}`) : [];
}

function outside(limits: Limits, value: number, what: "Length" | "Value", says: string): string[] {
  const [least, most] = [numberOf(limits, `min${what}`), numberOf(limits, `max${what}`)];
  if (least !== undefined && value < least) return [`${says}; at least ${least}`];
  return most !== undefined && value > most ? [`${says}; at most ${most}`] : [];
}
