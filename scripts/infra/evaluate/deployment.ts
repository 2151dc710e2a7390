import { messageOf } from "../../../src/engine/model/errors.ts";
import type { Project } from "../project.ts";
import type { Node } from "../syntax.ts";
import { namedChildren } from "../syntax.ts";
import type { Declaration, Template } from "../template.ts";
import { eachOf, evaluate, type Names } from "./expression.ts";
import { type Fields, Resource, type Value } from "./values.ts";

export const mainFile = "infra/main.bicep";
export const bootstrapFile = "infra/bootstrap.bicep";

/**
 * The resources that a deployment of a template with these parameters makes, in the order of the templates. Throws
 * where an expression cannot be evaluated: a name that is not there, the output of a module that is not deployed.
 *
 * Not promised: that Azure accepts them. What only Azure knows is a `Runtime`.
 */
export function deployment(project: Project, parameters: Fields, file = mainFile): readonly Resource[] {
  const main = project.templates.get(file);
  if (main === undefined) throw new Error(`there is no ${file}`);
  const made: Resource[] = [];
  evaluateTemplate(project, main, parameters, made);
  return made.filter(({ existing }) => !existing);
}

/** What azd puts in for its environment, as an example. */
const azdEnvironment = "${AZURE_ENV_NAME}";
export const asAzdReads = (text: string): string => text.replaceAll(azdEnvironment, "dev");

/** The values of the parameters in a file. */
export function parametersIn(text: string): Fields {
  const { parameters = {} } = JSON.parse(asAzdReads(text)) as {
    parameters?: Record<string, { value: Value }>;
  };
  return Object.fromEntries(Object.entries(parameters).map(([name, { value }]) => [name, value]));
}

/** The value of one expression of a template under these parameters. */
export const expressionValue = (project: Project, template: Template, given: Fields, node: Node): Value =>
  evaluate(node, namesIn(project, template, given, []));

/** Evaluates every resource and module of a template, and returns its outputs. */
function evaluateTemplate(project: Project, template: Template, given: Fields, made: Resource[]): Fields {
  const names = namesIn(project, template, given, made);
  for (const { kind, name, node } of template.declarations) {
    if (kind !== "resource" && kind !== "module") continue;
    try {
      names.valueOf(name);
    } catch (error) {
      const where = `${template.file}:${node.startPosition.row + 1}`;
      throw new Error(`${where}: ${name}: ${messageOf(error)}`, { cause: error });
    }
  }
  const outputs = template.declarations.filter(({ kind }) => kind === "output");
  return Object.fromEntries(outputs.map(({ name, value }) => [name, evaluate(value as Node, names)]));
}

/** The names of a template, each evaluated when it is first asked for; resources and modules go to `made` then. */
function namesIn(project: Project, template: Template, given: Fields, made: Resource[]): Names {
  const known = new Map<Declaration, Value>();
  const names: Names = {
    file: template.file,
    files: project.files,
    valueOf(name) {
      const found = project.lookUp(template, name);
      if (found === undefined) throw new Error(`${template.file}: nothing is called ${name}`);
      // What is imported stands on constants alone.
      if (found.template !== template)
        return evaluate(found.declaration.value as Node, { ...names, file: found.template.file });
      const { declaration } = found;
      if (!known.has(declaration)) known.set(declaration, declared(declaration));
      return known.get(declaration) as Value;
    },
  };
  const declared = (declaration: Declaration): Value => {
    const { kind, name, value } = declaration;
    if (kind === "resource" || kind === "module") return each(declaration, value as Node, names);
    if (kind === "param" && name in given) return given[name] as Value;
    if (value === undefined) throw new Error(`${template.file}: the parameter ${name} is not given`);
    return evaluate(value, names);
  };
  const resourceOf = ({ target = "", existing }: Declaration, body: Fields, absent: boolean) =>
    new Resource(target, body, { existing, absent, file: template.file });
  /** One, or a list of a loop. A module is null where its condition is false. */
  const each = (declaration: Declaration, node: Node, inner: Names): Value => {
    if (node.type === "for_statement")
      return eachOf(node, inner).map((one) => each(declaration, one.body, one.inner));
    if (node.type === "if_statement") {
      const [condition, body] = namedChildren(node);
      if (evaluate(condition as Node, inner)) return each(declaration, body as Node, inner);
      if (declaration.kind === "module") return null;
      // Its id and name are known all the same; only what Azure answers is not.
      return resourceOf(declaration, evaluate(body as Node, inner) as Fields, true);
    }
    const body = evaluate(node, inner) as Fields;
    if (declaration.kind === "resource") {
      const resource = resourceOf(declaration, body, false);
      made.push(resource);
      return resource;
    }
    const target = project.resolve(template, declaration.target ?? "");
    if (target === undefined) throw new Error(`there is no ${declaration.target}`);
    return { outputs: evaluateTemplate(project, target, (body["params"] ?? {}) as Fields, made) };
  };
  return names;
}
