import { analyzeQuery, type KqlNode } from "../../../scripts/infra/kusto.ts";

/** A node without lists, separators and names of names: its kind, its tokens and the nodes below. */
export interface Tree {
  readonly kind: string;
  readonly tokens: readonly string[];
  readonly parts: readonly Tree[];
  readonly literal: unknown;
}

const bare = /^(SyntaxList|SeparatedElement|TokenName$)/;

/** The tree of a query; throws what the language service says is wrong with it. */
export function treeOf(text: string): Tree {
  const code = analyzeQuery(text);
  const wrong = code.GetDiagnostics();
  if (wrong.Count > 0) throw new Error(wrong.getItem(0).Message);
  const [tree] = simplified(code.Syntax);
  return tree as Tree;
}

const kindOf = (node: KqlNode): string => node.constructor.$$name.replace("Kusto.Language.Syntax.", "");
const childrenOf = (node: KqlNode): KqlNode[] =>
  Array.from({ length: node.ChildCount }, (_, at) => node.GetChild(at)).filter((one) => one !== null);
const isToken = (node: KqlNode): boolean => kindOf(node).startsWith("SyntaxToken");

function simplified(node: KqlNode): Tree[] {
  const children = childrenOf(node).flatMap((one): KqlNode[] => (isToken(one) ? [one] : [one]));
  const below = children.filter((one) => !isToken(one)).flatMap(simplified);
  const tokens = children.filter(isToken).map((one) => one.Text ?? "");
  const kind = kindOf(node);
  if (kind === "NameReference" || kind === "NameDeclaration") {
    const name = childrenOf(childrenOf(node)[0] as KqlNode).map((one) => one.Text ?? "");
    return [{ kind, tokens: name, parts: [], literal: undefined }];
  }
  if (bare.test(kind)) return below;
  return [{ kind, tokens, parts: below, literal: node.LiteralValue }];
}
