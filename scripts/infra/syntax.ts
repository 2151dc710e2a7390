import { createRequire } from "node:module";
import { Language, type Node, Parser } from "web-tree-sitter";
import type { Refusal } from "./refusals/refusal.ts";
import { races, refusals } from "./refusals/refusals.ts";

const named = [
  "syntax",
  "unknown-name",
  "unknown-function",
  "unknown-decorator",
  "unknown-file",
  "unused",
  "duplicate-name",
  "module-file",
  "module-parameter",
  "module-output",
  "module-count",
  "registry-module",
  "resource-type",
  "resource-property",
  "resource-required",
  "resource-value",
  "allow-list",
  "secret",
  "endpoint",
  "hardening",
  "role-id",
  "role-name",
  "principal-type",
  "least-rights",
  "preview-rights",
  "description",
  "constraint",
  "name-length",
  "parameter-file",
  "deployment",
  "resource-name",
  "publish-path",
  "redundancy",
  "peering-order",
  "drift-containers",
  "drift-queues",
  "drift-settings",
  "drift-range",
  "drift-sample",
  "drift-page",
  "drift-events",
  "drift-functions",
  "drift-queries",
  "query",
  "drift-operations",
  "drift-version",
  "drift-host",
  "lifecycle-scope",
  "azd-service",
  "azd-version",
  "remote-build",
  "package",
  "workflow-pin",
  "workflow-secret",
  "workflow-scripts",
  "workflow-permissions",
  "workflow-identity",
  "workflow-commit",
  "workflow-bicep",
  "bicep-build",
  "bicep-lint",
  "bicep-warning",
  "bicep-format",
] as const;
export type RuleName = (typeof named)[number] | Refusal["rule"];

/** Every rule by its name; a test plants a mistake for each. The last four of those without a refusal are the Bicep CLI's. */
export const ruleNames: readonly RuleName[] = [...named, ...[...refusals, ...races].map(({ rule }) => rule)];

/** One line for the user: where, which rule, what is wrong. Lines and columns count from 1. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly rule: RuleName;
  readonly message: string;
}

/** A place in a file that a finding points at. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export const findingAt = (place: Place, rule: RuleName, message: string): Finding => ({
  file: place.file,
  line: place.line,
  column: place.column,
  rule,
  message,
});

export const placeOf = (file: string, node: Node): Place => ({
  file,
  line: node.startPosition.row + 1,
  column: node.startPosition.column + 1,
});

/** The place of the first occurrence of a text in a file; its first line where it is absent. */
export function placeOfText(file: string, content: string, text: string): Place {
  const at = content.indexOf(text);
  if (at < 0) return { file, line: 1, column: 1 };
  const before = content.slice(0, at).split("\n");
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Makes a parser for Bicep out of the published grammar (tree-sitter-bicep), which comes as WebAssembly. */
export async function bicepParser(): Promise<(text: string) => Node> {
  await Parser.init();
  const wasm = createRequire(import.meta.url).resolve("tree-sitter-bicep/tree-sitter-bicep.wasm");
  const parser = new Parser();
  parser.setLanguage(await Language.load(wasm));
  return (text) => {
    const tree = parser.parse(text);
    if (tree === null) throw new Error("the parser gave no tree");
    return tree.rootNode;
  };
}

/** Every node of the tree that the grammar could not make sense of. */
export function syntaxFindings(file: string, root: Node): Finding[] {
  if (!root.hasError) return [];
  const found: Finding[] = [];
  const visit = (node: Node): void => {
    if (node.isMissing) {
      found.push(findingAt(placeOf(file, node), "syntax", `${node.type} is missing here`));
    } else if (node.isError) {
      const text = node.text.trim().split("\n")[0]?.slice(0, 60) ?? "";
      found.push(findingAt(placeOf(file, node), "syntax", `this is no Bicep: ${JSON.stringify(text)}`));
    } else if (node.hasError) {
      for (const child of node.children) if (child !== null) visit(child);
    }
  };
  visit(root);
  return found;
}

export const namedChildren = (node: Node): Node[] =>
  node.namedChildren.filter((child): child is Node => child !== null && !/comment$/.test(child.type));

/** All nodes of a tree, the root first. */
export function* everyNode(root: Node): Generator<Node> {
  yield root;
  for (const child of namedChildren(root)) yield* everyNode(child);
}

/**
 * The items of a list. Where an item is `f(x)` or `x[i]`, the grammar takes its end for an item of its own; such an end
 * follows without a space and is left out here.
 */
export const itemsOf = (array: Node): Node[] =>
  namedChildren(array).filter(
    (item, index, all) => all[index - 1]?.endIndex !== item.startIndex && item.type !== "decorators",
  );
