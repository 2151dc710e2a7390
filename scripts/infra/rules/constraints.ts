import type { Project } from "../project.ts";
import { everyNode, type Finding, findingAt, namedChildren, placeOf } from "../syntax.ts";
import {
  bodyOf,
  type Declaration,
  propertiesOf,
  propertyAt,
  type stringOf,
  type Template,
} from "../template.ts";

/** Parameters that say by themselves what they take. */
const free = new Set(["location", "tags", "zoneRedundant"]);

/** `description`, `constraint` and `name-length`. */
export function constraints(project: Project): Finding[] {
  return [...project.templates.values()].flatMap((template) => [
    ...described(template),
    ...constrained(template),
    ...names(project, template),
  ]);
}

/** Every parameter, output and exported type, and every property of a type, says what it is. */
function described(template: Template): Finding[] {
  const silent = template.declarations.filter(
    (one) => ["param", "output", "type"].includes(one.kind) && !one.decorators.has("description"),
  );
  const inTypes = template.declarations
    .filter((one) => one.kind === "type" && one.type?.type === "object")
    .flatMap((one) => (one.type === undefined ? [] : propertiesOf(one.type)))
    .filter((one) => !one.decorators.has("description"));
  return [
    ...silent.map((one) =>
      findingAt(one.place, "description", `${one.kind} ${one.name} has no @description`),
    ),
    ...inTypes.map((one) =>
      findingAt(placeOf(template.file, one.keyNode), "description", `${one.key} has no @description`),
    ),
  ];
}

/**
 * What a user gives is bounded: numbers from both sides or by a list, texts in length or by a list. Modules get values
 * that the main template has bounded, or that Azure has made.
 */
function constrained(template: Template): Finding[] {
  if (template.file.startsWith("infra/modules/")) return [];
  return template.declarations.flatMap((one) => {
    if (one.kind !== "param" || free.has(one.name)) return [];
    const has = (...names: string[]) => names.every((name) => one.decorators.has(name));
    const type = one.type?.text ?? "";
    if (type === "int" && !has("allowed") && !has("minValue", "maxValue")) {
      return [findingAt(one.place, "constraint", `${one.name} needs @minValue and @maxValue, or @allowed`)];
    }
    if (type === "string" && !has("allowed") && !has("maxLength")) {
      return [findingAt(one.place, "constraint", `${one.name} needs @maxLength or @allowed`)];
    }
    if (type.endsWith("[]") && !has("minLength") && !has("maxLength") && one.value?.type !== "array") {
      return [findingAt(one.place, "constraint", `${one.name} needs @minLength or @maxLength`)];
    }
    return [];
  });
}

/** Names that modules limit are short enough for every input. */
function names(project: Project, template: Template): Finding[] {
  return template.declarations.flatMap((module) => {
    if (module.kind !== "module") return [];
    const target = project.resolve(template, module.target ?? "");
    const params = propertyAt(bodyOf(module.value), "params")?.value;
    if (target === undefined || params?.type !== "object") return [];
    return propertiesOf(params).flatMap(({ key, value }) => {
      const limit = numberOf(
        target.declarations.find((one) => one.kind === "param" && one.name === key),
        "maxLength",
      );
      const longest = longestText(project, template, value, module);
      if (value.type !== "string" || limit === undefined || longest === undefined) return [];
      const place = placeOf(template.file, value);
      const found: Finding[] = [];
      if (longest > limit) {
        found.push(
          findingAt(
            place,
            "name-length",
            `${key} may get ${longest} characters; ${module.target} takes ${limit}`,
          ),
        );
      }
      return found;
    });
  });
}

export const numberOf = (
  declaration: Pick<Declaration, "decorators"> | undefined,
  name: string,
): number | undefined => {
  const text = declaration?.decorators.get(name)?.[0]?.text;
  return text === undefined ? undefined : Number(text);
};

type Expression = Parameters<typeof stringOf>[0] & object;

/** How long the text can become, from the limits of what goes into it; undefined where nothing limits it. */
function longestText(
  project: Project,
  template: Template,
  value: Expression,
  within: Declaration,
): number | undefined {
  switch (value.type) {
    case "string": {
      const texts = namedChildren(value).map((part) => {
        const inner = namedChildren(part)[0];
        if (part.type !== "interpolation") return part.text.length;
        return inner === undefined ? undefined : longestText(project, template, inner, within);
      });
      return sum(texts);
    }
    case "call_expression":
      return value.childForFieldName("function")?.text === "uniqueString" ? 13 : undefined;
    case "identifier": {
      const declared = project.lookUp(template, value.text)?.declaration;
      if (declared?.kind === "param") return numberOf(declared, "maxLength");
      return declared?.kind === "var" && declared.value
        ? longestText(project, template, declared.value, within)
        : undefined;
    }
    case "member_expression": {
      // `region.short`, where `region` runs over a parameter of that type.
      const [, property] = namedChildren(value);
      const types = [...project.templates.values()].flatMap((one) =>
        one.declarations.filter(({ kind }) => kind === "type"),
      );
      const loop = [...everyNode(within.node)].find((node) => node.type === "for_statement");
      const over = loop === undefined ? undefined : namedChildren(loop)[1];
      const list = project.lookUp(template, over?.text ?? "")?.declaration.type?.text.replace(/\[\]$/, "");
      const type = types.find((one) => one.name === list)?.type;
      const found =
        type === undefined ? undefined : propertiesOf(type).find(({ key }) => key === property?.text);
      return numberOf(found, "maxLength");
    }
    default:
      return undefined;
  }
}

const sum = (parts: readonly (number | undefined)[]): number | undefined =>
  parts.some((part) => part === undefined)
    ? undefined
    : parts.reduce<number>((total, part) => total + (part ?? 0), 0);
