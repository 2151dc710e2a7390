import type { Node } from "./syntax.ts";
import { everyNode, namedChildren, type Place, placeOf } from "./syntax.ts";

/** What a Bicep file declares: the model that the rules look at. */
export interface Template {
  readonly file: string;
  readonly root: Node;
  readonly declarations: readonly Declaration[];
  readonly imports: readonly Import[];
}

type Kind = "param" | "var" | "type" | "func" | "resource" | "module" | "output";

export interface Declaration {
  readonly kind: Kind;
  readonly name: string;
  readonly node: Node;
  readonly place: Place;
  /** `@description('…')` and the like, by name. */
  readonly decorators: ReadonlyMap<string, readonly Node[]>;
  /** The default of a parameter, the value of a variable or output, the body of a resource or module. */
  readonly value: Node | undefined;
  /** The type of a parameter, an output or a type declaration. */
  readonly type: Node | undefined;
  /** `Microsoft.Storage/storageAccounts@2025-01-01`, or the path of a module. */
  readonly target: string | undefined;
  readonly existing: boolean;
}

interface Import {
  readonly names: readonly string[];
  readonly from: string;
  readonly node: Node;
}

const kinds: Readonly<Record<string, Kind>> = {
  parameter_declaration: "param",
  variable_declaration: "var",
  type_declaration: "type",
  user_defined_function: "func",
  resource_declaration: "resource",
  module_declaration: "module",
  output_declaration: "output",
};

export function readTemplate(file: string, root: Node): Template {
  const declarations: Declaration[] = [];
  const imports: Import[] = [];
  let decorators = new Map<string, readonly Node[]>();
  for (const node of namedChildren(root)) {
    if (node.type === "decorators") {
      decorators = readDecorators(node);
      continue;
    }
    const kind = kinds[node.type];
    if (kind !== undefined) declarations.push(readDeclaration(file, kind, node, decorators));
    if (node.type === "import_functionality") {
      const parts = namedChildren(node);
      const names = parts.filter((part) => part.type === "identifier").map((part) => part.text);
      imports.push({ names, from: stringOf(parts.at(-1)) ?? "", node });
    }
    decorators = new Map();
  }
  return { file, root, declarations, imports };
}

function readDecorators(node: Node): Map<string, readonly Node[]> {
  return new Map(
    namedChildren(node).flatMap((decorator) => {
      const call = namedChildren(decorator)[0];
      if (call === undefined) return [];
      const given = call.childForFieldName("arguments");
      const name = call.childForFieldName("function")?.text ?? call.text;
      return [[name, given === null ? [] : namedChildren(given)] as const];
    }),
  );
}

function readDeclaration(
  file: string,
  kind: Kind,
  node: Node,
  decorators: ReadonlyMap<string, readonly Node[]>,
): Declaration {
  const [name, ...rest] = namedChildren(node);
  const typed = kind === "param" || kind === "output" || kind === "type";
  const hasTarget = kind === "resource" || kind === "module";
  return {
    kind,
    name: name?.text ?? "",
    node,
    place: placeOf(file, name ?? node),
    decorators,
    type: typed ? rest[0] : undefined,
    target: hasTarget ? stringOf(rest[0]) : undefined,
    value: typed || hasTarget ? rest[1] : rest.at(-1),
    existing: kind === "resource" && node.children.some((child) => child.type === "existing"),
  };
}

/** The text of a string without interpolation; undefined for anything else. */
export function stringOf(node: Node | undefined | null): string | undefined {
  if (node?.type !== "string") return undefined;
  if (namedChildren(node).some((part) => part.type === "interpolation")) return undefined;
  return node.text.startsWith("'''")
    ? node.text.slice(3, -3)
    : node.text.slice(1, -1).replace(/\\(.)/g, "$1");
}

export interface Property {
  readonly key: string;
  readonly keyNode: Node;
  readonly value: Node;
  readonly decorators: ReadonlyMap<string, readonly Node[]>;
}

/** The properties of an object that are written out; a key with interpolation is `*`. */
export function propertiesOf(object: Node): Property[] {
  const properties: Property[] = [];
  let decorators: ReadonlyMap<string, readonly Node[]> = new Map();
  for (const child of namedChildren(object)) {
    if (child.type === "decorators") decorators = readDecorators(child);
    if (child.type !== "object_property") continue;
    const [keyNode, value] = namedChildren(child);
    if (keyNode !== undefined && value !== undefined) {
      const key = keyNode.type === "string" ? (stringOf(keyNode) ?? "*") : keyNode.text;
      properties.push({ key, keyNode, value, decorators });
    }
    decorators = new Map();
  }
  return properties;
}

/** The object inside of `if (…) {…}` and `[for … : {…}]`. */
export function bodyOf(node: Node | undefined): Node | undefined {
  if (node === undefined || node.type === "object") return node;
  if (node.type === "for_statement") return bodyOf(node.childForFieldName("body") ?? undefined);
  if (node.type === "if_statement") return bodyOf(namedChildren(node).at(-1));
  return undefined;
}

/** A property deep inside an object, by its path; undefined where it is absent or not written out. */
export function propertyAt(object: Node | undefined, ...path: readonly string[]): Property | undefined {
  let found: Property | undefined;
  let at = object;
  for (const key of path) {
    if (at?.type !== "object") return undefined;
    found = propertiesOf(at).find((property) => property.key === key);
    at = found?.value;
  }
  return found;
}

export const stringsIn = (node: Node): Node[] =>
  [...everyNode(node)].filter((inner) => inner.type === "string" && stringOf(inner) !== undefined);
