import { createRequire } from "node:module";
import { Language, Parser, type TreeCursor } from "web-tree-sitter";
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
  "scale-queue",
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

/** A node of a file, copied out of the parser: there each look at one crosses into WebAssembly. */
export interface Node {
  readonly id: number;
  readonly type: string;
  readonly text: string;
  readonly startIndex: number;
  readonly endIndex: number;
  readonly startPosition: { readonly row: number; readonly column: number };
  readonly isNamed: boolean;
  /** The grammar wants a node here, and there is none. */
  readonly isMissing: boolean;
  /** This node, or one below it, is missing or no part of the grammar. */
  readonly hasError: boolean;
  readonly children: readonly Node[];
  /** Those with a name, without comments. */
  readonly named: readonly Node[];
  childForFieldName(name: string): Node | null;
}

const errorType = "ERROR";

function copyOf(cursor: TreeCursor, source: string): Node {
  const { nodeId: id, nodeType: type, startIndex, endIndex, startPosition } = cursor;
  const { nodeIsNamed: isNamed, nodeIsMissing: isMissing } = cursor;
  const children: Node[] = [];
  const fields = new Map<string, Node>();
  for (let there = cursor.gotoFirstChild(); there; there = cursor.gotoNextSibling()) {
    const child = copyOf(cursor, source);
    const field = cursor.currentFieldName;
    if (field !== null && !fields.has(field)) fields.set(field, child);
    children.push(child);
  }
  if (children.length > 0) cursor.gotoParent();
  return {
    ...{ id, type, text: source.slice(startIndex, endIndex), startIndex, endIndex, startPosition },
    ...{ isNamed, isMissing, children },
    named: children.filter((child) => child.isNamed && !/comment$/.test(child.type)),
    hasError: isMissing || type === errorType || children.some(({ hasError }) => hasError),
    childForFieldName: (name) => fields.get(name) ?? null,
  };
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
    const root = copyOf(tree.walk(), text);
    tree.delete();
    return root;
  };
}

/** Every node of the tree that the grammar could not make sense of. */
export function syntaxFindings(file: string, root: Node): Finding[] {
  if (!root.hasError) return [];
  const found: Finding[] = [];
  const visit = (node: Node): void => {
    if (node.isMissing) {
      found.push(findingAt(placeOf(file, node), "syntax", `${node.type} is missing here`));
    } else if (node.type === errorType) {
      const text = node.text.trim().split("\n")[0]?.slice(0, 60) ?? "";
      found.push(findingAt(placeOf(file, node), "syntax", `this is no Bicep: ${JSON.stringify(text)}`));
    } else if (node.hasError) {
      node.children.forEach(visit);
    }
  };
  visit(root);
  return found;
}

/** Without comments. */
export const namedChildren = (node: Node): Node[] => [...node.named];

/** All nodes of a tree, the root first. */
export function* everyNode(root: Node): Generator<Node> {
  const left = [root];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    yield node;
    left.push(...node.named.toReversed());
  }
}

/**
 * The items of a list. Where an item is `f(x)` or `x[i]`, the grammar takes its end for an item of its own; such an end
 * follows without a space and is left out here.
 */
export const itemsOf = (array: Node): Node[] =>
  namedChildren(array).filter(
    (item, index, all) => all[index - 1]?.endIndex !== item.startIndex && item.type !== "decorators",
  );
