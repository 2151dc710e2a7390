import type { Project } from "../project.ts";
import type { Node } from "../syntax.ts";
import { everyNode, type Finding, findingAt, namedChildren, placeOf } from "../syntax.ts";
import { bodyOf, type Declaration, propertiesOf, propertyAt, type Template } from "../template.ts";

/** At most so many files of their own. */
const modulesMax = 12;

/** `module-file`, `module-parameter`, `module-output`, `module-count` and `registry-module`. */
export function modules(project: Project): Finding[] {
  const found = [...project.templates.values()].flatMap((template) => [
    ...template.declarations
      .filter((one) => one.kind === "module")
      .flatMap((one) => checkModule(project, template, one)),
    ...checkOutputs(project, template),
  ]);
  const files = [...project.templates.keys()].filter((file) => file.startsWith("infra/modules/"));
  const used = new Set(
    [...project.templates.values()].flatMap((template) =>
      template.declarations.map((one) => project.resolve(template, one.target ?? "")?.file),
    ),
  );
  for (const file of files) {
    if (!used.has(file))
      found.push(findingAt({ file, line: 1, column: 1 }, "module-file", "no template uses this module"));
  }
  if (files.length > modulesMax) {
    const place = { file: files[modulesMax] ?? "", line: 1, column: 1 };
    found.push(
      findingAt(place, "module-count", `${files.length} modules; at most ${modulesMax} are meant to be here`),
    );
  }
  return found;
}

function checkModule(project: Project, template: Template, module: Declaration): Finding[] {
  const path = module.target ?? "";
  if (/^(br|ts)[:/]/.test(path)) {
    return [
      findingAt(
        module.place,
        "registry-module",
        `${path} needs a network to be checked; write its resources plainly`,
      ),
    ];
  }
  const target = project.resolve(template, path);
  if (target === undefined) return [findingAt(module.place, "module-file", `there is no file ${path}`)];
  const params = target.declarations.filter((one) => one.kind === "param");
  const passed = propertyAt(bodyOf(module.value), "params");
  const given = passed?.value.type === "object" ? propertiesOf(passed.value) : [];
  const unknown = given
    .filter(({ key }) => !params.some((one) => one.name === key))
    .map(({ key, keyNode }) =>
      findingAt(placeOf(template.file, keyNode), "module-parameter", `${path} has no parameter ${key}`),
    );
  const missing = params
    .filter((one) => one.value === undefined && !isNullable(one.type))
    .filter((one) => !given.some(({ key }) => key === one.name))
    .map((one) =>
      findingAt(module.place, "module-parameter", `${module.name} does not pass ${one.name} to ${path}`),
    );
  return [...unknown, ...missing];
}

const isNullable = (type: Node | undefined): boolean => type !== undefined && /\?$/.test(type.text);

/** `data.outputs.id`, `apps[i].outputs.name`, `logs!.outputs.workspaceId`. */
function checkOutputs(project: Project, template: Template): Finding[] {
  return [...everyNode(template.root)].flatMap((node) => {
    const [outputs, property] = namedChildren(node);
    if (node.type !== "member_expression" || outputs?.type !== "member_expression") return [];
    const [base, word] = namedChildren(outputs);
    if (word?.text !== "outputs" || base === undefined || property === undefined) return [];
    const name = base.type === "subscript_expression" ? namedChildren(base)[0]?.text : base.text;
    const module = template.declarations.find((one) => one.kind === "module" && one.name === name);
    const target = project.resolve(template, module?.target ?? "");
    if (target?.declarations.some((one) => one.kind === "output" && one.name === property.text)) return [];
    const says =
      target === undefined ? `${name} is no module` : `${module?.target} has no output ${property.text}`;
    return [findingAt(placeOf(template.file, property), "module-output", says)];
  });
}
