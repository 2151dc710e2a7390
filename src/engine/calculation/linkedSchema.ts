import * as z from "zod";

export type Property = z.core.JSONSchema.JSONSchema;

/**
 * JSON Schema of what a schema takes, in which each `$ref` is the schema that it names: a recursive schema is then a cycle
 * of objects. For walks over values, which end with the value. `anyBefore` puts `{}` for what `z.preprocess` takes: its
 * function may take anything, whatever the schema behind it says.
 */
export function linkedSchema(schema: z.ZodType, { anyBefore = false } = {}): Property {
  const root = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      const isPreprocess = def.type === "pipe" && def.in._zod.def.type === "transform";
      if (anyBefore && isPreprocess) for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
    },
  }) as Property;
  /** What stands for each node with a `$ref`. */
  const linked = new Map<object, unknown>();
  const link = (node: unknown): unknown => {
    if (typeof node !== "object" || node === null) return node;
    if (linked.has(node)) return linked.get(node);
    const stands = named(root, node as Property);
    linked.set(node, stands);
    linked.set(stands, stands);
    for (const [key, inner] of Object.entries(stands)) Reflect.set(stands, key, link(inner));
    return stands;
  };
  return link(root) as Property;
}

/** The schema that a node names, directly or through others. Keywords beside a `$ref`, such as a default, hold as well. */
function named(root: Property, node: Property): Property {
  const met = new Set<string>();
  let found = node;
  while (found.$ref !== undefined && !met.has(found.$ref)) {
    const { $ref, ...beside } = found;
    met.add($ref);
    found = { ...targetOf(root, $ref), ...beside };
  }
  return found;
}

/** Zod writes only these two: the whole, and one of its definitions by its name. */
function targetOf(root: Property, ref: string): Property | undefined {
  if (ref === "#") return root;
  const name = /^#\/\$defs\/(.*)$/s.exec(ref)?.[1];
  return name === undefined ? undefined : (root.$defs?.[name] as Property | undefined);
}
