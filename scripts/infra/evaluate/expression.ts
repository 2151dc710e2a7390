import { posix } from "node:path";
import type { Node } from "../syntax.ts";
import { namedChildren } from "../syntax.ts";
import { functions } from "./functions.ts";
import { isFields, type Lambda, Resource, Runtime, type Value } from "./values.ts";

/** Where names get their values: locals of loops first, then declarations. */
export interface Names {
  readonly file: string;
  readonly files: ReadonlyMap<string, string>;
  valueOf(name: string): Value;
}

const withLocals = (names: Names, locals: Readonly<Record<string, Value>>): Names => ({
  ...names,
  valueOf: (name) => (name in locals ? (locals[name] as Value) : names.valueOf(name)),
});

/** The value of an expression. Throws where the template itself would fail: a missing property, an index out of range. */
export function evaluate(node: Node, names: Names): Value {
  const of = (inner: Node | null | undefined): Value => {
    if (!inner) throw new Error(`nothing to evaluate in ${node.text.slice(0, 60)}`);
    return evaluate(inner, names);
  };
  const [first, second] = namedChildren(node);
  switch (node.type) {
    case "string":
      return textOf(node, names);
    case "number":
      return Number(node.text);
    case "boolean":
      return node.text === "true";
    case "null":
      return null;
    case "identifier":
      return names.valueOf(node.text);
    case "parenthesized_expression":
      return of(first);
    case "ternary_expression":
      return of(
        node.childForFieldName(of(node.childForFieldName("condition")) ? "consequence" : "alternative"),
      );
    case "unary_expression":
      return node.text.startsWith("!") ? !of(first) : -Number(of(first));
    case "binary_expression":
      return binary(node, of);
    case "member_expression":
      return onLast(first, names, (value) => member(value, second?.text ?? "", node));
    case "subscript_expression":
      return onLast(first, names, (value) => indexed(value, of(second), node));
    case "call_expression":
      return call(node, names);
    case "lambda_expression":
      return lambda(node, names);
    case "array":
      return items(node, names);
    case "for_statement":
      return eachOf(node, names).map(({ body, inner }) => evaluate(body, inner));
    case "object":
      return Object.fromEntries(
        namedChildren(node)
          .filter(({ type }) => type === "object_property")
          .map((property) => {
            const [key, value] = namedChildren(property);
            return [key?.type === "string" ? String(of(key)) : (key?.text ?? ""), of(value)];
          }),
      );
    default:
      throw new Error(`${node.type} is not evaluated here: ${node.text.slice(0, 60)}`);
  }
}

/** The grammar reads `a ? b : c.d` and `x => c.d` as a member of the whole; it belongs to the last part. */
function onLast(node: Node | undefined, names: Names, change: (value: Value) => Value): Value {
  if (node?.type === "lambda_expression") {
    const inner = lambda(node, names);
    return (value) => change(inner(value));
  }
  if (node?.type !== "ternary_expression") return change(evaluate(node as Node, names));
  const part = (name: string) => node.childForFieldName(name) as Node;
  return evaluate(part("condition"), names)
    ? evaluate(part("consequence"), names)
    : onLast(part("alternative"), names, change);
}

/** The bodies of a loop, each with its variables. */
export function eachOf(node: Node, names: Names): { readonly body: Node; readonly inner: Names }[] {
  const single = node.childForFieldName("initializer");
  const body = node.childForFieldName("body");
  const parameters = namedChildren(node).find(({ type }) => type === "for_loop_parameters");
  const variables = single ? [single.text] : namedChildren(parameters as Node).map(({ text }) => text);
  const over = namedChildren(node).find(
    (one) => one.id !== single?.id && one.id !== parameters?.id && one.id !== body?.id,
  );
  const list = evaluate(over as Node, names);
  if (!Array.isArray(list) || body === null) throw new Error(`no loop: ${node.text.slice(0, 60)}`);
  return list.map((value: Value, index) => {
    const locals = Object.fromEntries(variables.map((name, place) => [name, place === 0 ? value : index]));
    return { body, inner: withLocals(names, locals) };
  });
}

function textOf(node: Node, names: Names): string {
  if (node.text.startsWith("'''")) return node.text.slice(3, -3).replace(/^\r?\n/, "");
  const parts = namedChildren(node).map((part) => {
    if (part.type === "escape_sequence") return part.text === "\\n" ? "\n" : part.text.slice(1);
    const [inner] = namedChildren(part);
    if (part.type !== "interpolation" || inner === undefined) return part.text;
    const value = evaluate(inner, names);
    return isFields(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
  });
  return parts.join("");
}

function binary(node: Node, of: (inner: Node | null | undefined) => Value): Value {
  const [left, right] = [node.childForFieldName("left"), node.childForFieldName("right")];
  const operator = node.children.find((child) => !child.isNamed)?.text ?? "";
  if (operator === "&&") return Boolean(of(left)) && Boolean(of(right));
  if (operator === "||") return Boolean(of(left)) || Boolean(of(right));
  if (operator === "??") return of(left) ?? of(right);
  if (operator === "==") return of(left) === of(right);
  if (operator === "!=") return of(left) !== of(right);
  const [a, b] = [Number(of(left)), Number(of(right))];
  const numbers: Readonly<Record<string, Value>> = {
    "+": a + b,
    "-": a - b,
    "*": a * b,
    "/": Math.trunc(a / b),
    "%": a % b,
    "<": a < b,
    ">": a > b,
    "<=": a <= b,
    ">=": a >= b,
  };
  const value = numbers[operator];
  if (value === undefined) throw new Error(`the operator ${operator} is not evaluated here`);
  return value;
}

function member(value: Value, name: string, node: Node): Value {
  if (value instanceof Runtime) return new Runtime(`${value.text}.${name}`);
  if (value instanceof Resource) {
    if (name === "id") return value.id;
    if (name === "name") return value.name;
    if (value.absent) throw new Error(`${node.text} reads a resource that is not deployed`);
    return new Runtime(`${value.name}.${name}`);
  }
  const optional = node.children.some((child) => child.text === ".?");
  if (optional && (value === null || (isFields(value) && !(name in value)))) return null;
  if (isFields(value) && name in value) return value[name] as Value;
  throw new Error(`${node.text} reads ${name}, which is not there`);
}

function indexed(value: Value, index: Value, node: Node): Value {
  const found = Array.isArray(value)
    ? (value[Number(index)] as Value | undefined)
    : isFields(value)
      ? value[String(index)]
      : undefined;
  if (found === undefined) throw new Error(`${node.text}: there is no ${String(index)}`);
  return found;
}

function call(node: Node, names: Names): Value {
  const name = node.childForFieldName("function")?.text ?? "";
  const given = namedChildren(node.childForFieldName("arguments") as Node);
  return called(name, given, names);
}

function called(name: string, given: readonly Node[], names: Names): Value {
  const values = given.map((one) => evaluate(one, names));
  if (name === "loadTextContent") {
    const file = posix.normalize(posix.join(posix.dirname(names.file), String(values[0])));
    const content = names.files.get(file);
    if (content === undefined) throw new Error(`there is no file ${file}`);
    return content;
  }
  const known = functions[name];
  if (known === undefined) throw new Error(`the function ${name} is not evaluated here`);
  return known(...values);
}

function lambda(node: Node, names: Names): Lambda {
  const [variable, body] = namedChildren(node);
  return (value) => evaluate(body as Node, withLocals(names, { [variable?.text ?? ""]: value }));
}

/** The grammar splits an item `f(x)` or `x[i]` in two, the second of which follows without a space. */
function items(node: Node, names: Names): Value[] {
  const parts = namedChildren(node);
  return parts.flatMap((part, i) => {
    const next = parts[i + 1];
    if (parts[i - 1]?.endIndex === part.startIndex) return [];
    if (next === undefined || next.startIndex !== part.endIndex) return [evaluate(part, names)];
    if (next.type === "array")
      return [indexed(evaluate(part, names), evaluate(namedChildren(next)[0] as Node, names), part)];
    return [called(part.text, namedChildren(next), names)];
  });
}
