import { ConfigError } from "../../model/errors.ts";

/**
 * Route templates as the host understands them: `runs/{id}/result`, `{id?}`, `{*rest}`, `{id:int}`. A literal
 * segment wins over a parameter, a constrained parameter over a free one, a catch-all comes last.
 */
export interface Route<T> {
  readonly methods: readonly string[];
  /** Without prefix. */
  readonly template: string;
  readonly target: T;
}

export type Match<T> = { readonly target: T; readonly params: Readonly<Record<string, string>> };

const constraints: Readonly<Record<string, RegExp>> = {
  int: /^[+-]?\d{1,10}$/,
  long: /^[+-]?\d{1,19}$/,
  alpha: /^[a-z]*$/i,
  guid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
};

type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | {
      readonly kind: "parameter";
      readonly name: string;
      readonly pattern: RegExp | undefined;
      readonly optional: boolean;
    }
  | { readonly kind: "rest"; readonly name: string };

/** Gives a function that finds the route of a request. Throws `ConfigError` for a template that does not parse. */
export function makeRouter<T>(routePrefix: string, routes: readonly Route<T>[]) {
  const prefix = segmentsOf(routePrefix).map((text): Segment => ({ kind: "literal", text }));
  const compiled = routes
    .map((route) => {
      const segments = [...prefix, ...segmentsOf(route.template).map((text) => parse(text, route.template))];
      const methods = new Set(route.methods.map((one) => one.toUpperCase()));
      return { target: route.target, methods, segments, rank: segments.map(rank).join("") };
    })
    .sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0));

  return (method: string, path: string): Match<T> | undefined => {
    const parts = decodedParts(path);
    if (!parts) return undefined;
    for (const { target, methods, segments } of compiled) {
      const params = methods.has(method.toUpperCase()) ? match(segments, parts) : undefined;
      if (params) return { target, params };
    }
    return undefined;
  };
}

const segmentsOf = (path: string) => path.split("/").filter((part) => part !== "");

function decodedParts(path: string): string[] | undefined {
  try {
    return segmentsOf(path).map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function parse(text: string, template: string): Segment {
  if (!text.includes("{")) return { kind: "literal", text };
  const found = /^\{(\*?)([A-Za-z_]\w*)(?::(\w+))?(\?)?\}$/.exec(text);
  const [, star, name, constraint, optional] = found ?? [];
  const pattern = constraint === undefined ? undefined : constraints[constraint];
  if (name === undefined || (constraint !== undefined && pattern === undefined)) {
    throw new ConfigError("bad-route", `the route "${template}": "${text}" is not understood here`);
  }
  return star
    ? { kind: "rest", name }
    : { kind: "parameter", name, pattern, optional: optional !== undefined };
}

function rank(segment: Segment): string {
  if (segment.kind === "literal") return "0";
  if (segment.kind === "rest") return "3";
  return segment.pattern ? "1" : "2";
}

function match(segments: readonly Segment[], parts: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const part = parts[index];
    if (segment.kind === "rest") {
      params[segment.name] = parts.slice(index).join("/");
      return params;
    }
    if (segment.kind === "literal") {
      if (part?.toLowerCase() !== segment.text.toLowerCase()) return undefined;
    } else if (part === undefined) {
      if (!segment.optional) return undefined;
    } else if (segment.pattern && !segment.pattern.test(part)) return undefined;
    else params[segment.name] = part;
  }
  return parts.length <= segments.length ? params : undefined;
}
