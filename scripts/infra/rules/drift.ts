import { all } from "../facts.ts";
import { analyzeQuery } from "../kusto.ts";
import type { Project } from "../project.ts";
import {
  type Finding,
  findingAt,
  namedChildren,
  type Place,
  placeOf,
  placeOfText,
  type RuleName,
} from "../syntax.ts";
import { type Declaration, stringOf, stringsIn } from "../template.ts";
import { appFile, find, sharedFile } from "./driftSettings.ts";

/** The code and everything beside it say the same: `drift-*` but for settings, and `lifecycle-scope`. */
export function drift(project: Project): Finding[] {
  return [
    ...storageNames(project),
    ...queries(project),
    ...functionNames(project),
    ...operations(project),
    ...versions(project),
  ];
}

function storageNames(project: Project): Finding[] {
  const lists = [
    ["containerSuffixes", project.facts.containers, "drift-containers"],
    ["queueSuffixes", project.facts.queues, "drift-queues"],
  ] as const;
  const names = lists.flatMap(([name, truth, rule]) => {
    const declared = find(project, sharedFile, name);
    const place = declared?.place ?? { file: sharedFile, line: 1, column: 1 };
    const listed =
      declared?.value === undefined ? [] : stringsIn(declared.value).map((one) => stringOf(one) ?? "");
    return differences(listed, truth).map((says) =>
      findingAt(place, rule, `${name}: ${says} in src/engine/model/names.ts`),
    );
  });
  // Only what belongs to one run and is not looked at again may go by age.
  const data = project.templates.get("infra/modules/dataStorage.bicep");
  const policies = data?.declarations.find((one) => one.target?.includes("/managementPolicies@"));
  const prefixes = stringsWith(policies, /^'\$\{namespace\}-/);
  const wrong = prefixes.filter(({ text }) => !/^'\$\{namespace\}-(runs|results)\/'$/.test(text));
  return [
    ...names,
    ...wrong.map(({ place, text }) =>
      findingAt(place, "lifecycle-scope", `${text}: only runs and results may be deleted by age`),
    ),
  ];
}

function stringsWith(
  declaration: Declaration | undefined,
  pattern: RegExp,
): { place: Place; text: string }[] {
  if (declaration === undefined) return [];
  const visit = (node: Declaration["node"]): Declaration["node"][] => [
    node,
    ...namedChildren(node).flatMap(visit),
  ];
  return visit(declaration.node)
    .filter((node) => node.type === "string" && pattern.test(node.text))
    .map((node) => ({ place: placeOf(declaration.place.file, node), text: node.text }));
}

function differences(listed: readonly string[], truth: readonly string[]): string[] {
  return [
    ...listed.filter((one) => !truth.includes(one)).map((one) => `${one} is not there`),
    ...truth.filter((one) => !listed.includes(one)).map((one) => `${one} is missing here; it is`),
  ];
}

/** Queries are valid KQL; the events, fields and functions that they name exist; a template loads each. */
function queries(project: Project): Finding[] {
  const { facts } = project;
  const loaded = [...project.templates.values()].flatMap((one) =>
    all(one.root.text, /loadTextContent\('([^']+)'\)/g),
  );
  return [...project.files].flatMap(([file, text]) => {
    if (!file.startsWith("infra/queries/")) return [];
    const at = (about: string, rule: RuleName, says: string) =>
      findingAt(placeOfText(file, text, about), rule, says);
    const events = all(text, /\bevent\)? (?:==|in) (\(?"[^)|\n]*)/g).flatMap((list) =>
      all(list, /(?<!\[)"([\w-]+)"/g),
    );
    const begins = all(text, /\{\\"event\\":\\"([\w-]+)\\"/g);
    const operations = all(text, /OperationName (?:in|==) (\(?"[^)\n|]*)/g);
    const wrong = analyzeQuery(text).GetDiagnostics();
    return [
      ...Array.from({ length: wrong.Count }, (_, i) => wrong.getItem(i)).map(({ Start, Message }) =>
        findingAt(placeOfText(file, text, text.slice(Start)), "query", Message),
      ),
      ...[...events, ...begins]
        .filter((name) => !facts.events.includes(name))
        .map((name) => at(name, "drift-events", `no event is called ${name}`)),
      ...all(text, /\bfields(?:\.|\[")(\w+)/g)
        .filter((name) => !facts.fields.has(name) && name !== "event")
        .map((name) => at(name, "drift-events", `no event has a field ${name}`)),
      ...operations
        .flatMap((list) => all(list, /"(\w+)"/g))
        .filter((name) => !facts.functions.includes(name))
        .map((name) => at(`"${name}"`, "drift-functions", `no function is called ${name}`)),
      ...(loaded.some((path) => path.endsWith(`/${file.split("/").at(-1)}`))
        ? []
        : [at("", "drift-queries", "no template loads this query")]),
    ];
  });
}

/** Each alert has its section in the operations page, and the page has none for an alert that is gone. */
function operations(project: Project): Finding[] {
  const file = "docs/OPERATIONS.md";
  const text = project.files.get(file) ?? "";
  const declared = find(project, "infra/modules/alerts.bicep", "alerts")?.value;
  const alerts = declared === undefined ? [] : all(declared.text, /^ {4}name: '([\w-]+)'/gm);
  return alerts
    .filter((name) => !text.split("\n").includes(`## ${name}`))
    .map((name) =>
      findingAt({ file, line: 1, column: 1 }, "drift-operations", `the alert ${name} has no section`),
    );
}

/** `function:worker` in parameter files. */
function functionNames(project: Project): Finding[] {
  return [...project.files].flatMap(([file, text]) =>
    !/^infra\/[^/]+\.parameters\.json$/.test(file)
      ? []
      : all(text, /"function:(\w*)"/g)
          .filter((name) => !project.facts.functions.includes(name))
          .map((name) => {
            const says = `no function is called ${name}; there are ${project.facts.functions.join(", ")}`;
            return findingAt(placeOfText(file, text, `function:${name}`), "drift-functions", says);
          }),
  );
}

/** A runtime that the bundle is not built for would fail at the first start, or worse, later. */
function versions(project: Project): Finding[] {
  return ["infra/main.bicep", appFile].flatMap((file) => {
    const parameter = find(project, file, "runtimeVersion");
    const [list] = parameter?.decorators.get("allowed") ?? [];
    const old = (list === undefined ? [] : stringsIn(list)).filter(
      (one) => !(Number(stringOf(one)) >= project.facts.nodeMinimum),
    );
    return [
      ...(list === undefined
        ? [
            findingAt(
              parameter?.place ?? { file, line: 1, column: 1 },
              "drift-version",
              "runtimeVersion needs @allowed",
            ),
          ]
        : []),
      ...old.map((one) =>
        findingAt(
          placeOf(file, one),
          "drift-version",
          `Node ${stringOf(one)}: the bundle needs ${project.facts.nodeMinimum} or newer`,
        ),
      ),
    ];
  });
}
