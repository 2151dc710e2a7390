/**
 * The published types of the resources we use, cut down to the properties that the templates reach. A type is
 *
 *   "string", "int", "bool", "*"      a value; `*` is not looked into
 *   "None | AADDS"                    one of these words; `| string` at the end admits others, which we still do not
 *   "@Name"                           an object, described under that name
 *   …[]                               a list of it;  …!  required
 *
 * `infra/schemas.json` comes from the tool that prints Bicep's types (its version and command stand in the file);
 * `infra/schemas.extra.json` adds by hand what that tool lacks, each with its reason.
 */
export interface SchemaSummary {
  readonly source: string;
  /** `Microsoft.Storage/storageAccounts@2025-01-01` → name of its object. */
  readonly resources: Readonly<Record<string, string>>;
  readonly objects: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export const generatedFile = "infra/schemas.json";
export const extraFile = "infra/schemas.extra.json";

export function schemaFiles(files: ReadonlyMap<string, string>): SchemaSummary {
  const read = (file: string) => JSON.parse(files.get(file) ?? "{}") as Partial<SchemaSummary>;
  const [generated, extra] = [read(generatedFile), read(extraFile)];
  const objects: Record<string, Readonly<Record<string, string>>> = { ...generated.objects };
  for (const [name, properties] of Object.entries(extra.objects ?? {})) {
    objects[name] = { ...objects[name], ...properties };
  }
  return {
    source: generated.source ?? "",
    resources: { ...generated.resources, ...extra.resources },
    objects,
  };
}

export interface TypeText {
  readonly required: boolean;
  readonly list: boolean;
  /** The name of an object. */
  readonly object: string | undefined;
  readonly primitive: "string" | "int" | "bool" | "*" | undefined;
  /** The words that are allowed, of an enumeration. */
  readonly words: readonly string[];
}

export function parseType(text: string): TypeText {
  const required = text.endsWith("!");
  const bare = required ? text.slice(0, -1) : text;
  const list = bare.endsWith("[]");
  const inner = list ? bare.slice(0, -2) : bare;
  const object = inner.startsWith("@") ? inner.slice(1) : undefined;
  const primitive = (["string", "int", "bool", "*"] as const).find((one) => one === inner);
  const words = object === undefined && primitive === undefined ? inner.split(" | ") : [];
  return { required, list, object, primitive, words: words.filter((word) => word !== "string") };
}
