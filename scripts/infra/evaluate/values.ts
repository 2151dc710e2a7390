/** A value of a Bicep expression. `Runtime` is what only a deployment knows. */
export type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  | Fields
  | Runtime
  | Resource
  | Lambda;
export interface Fields {
  readonly [name: string]: Value;
}
export type Lambda = (...given: Value[]) => Value;

/** Stands for what Azure answers, such as a host name: a text that says where it comes from. */
export class Runtime {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return `<${this.text}>`;
  }
}

/** A resource that a deployment makes, expects (`existing`) or leaves out because of its condition (`absent`). */
export class Resource {
  /** Its type and names from the outermost one on, below the resource that it is scoped to. */
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly body: Fields;
  readonly existing: boolean;
  readonly absent: boolean;
  readonly file: string;
  constructor(target: string, body: Fields, from: Pick<Resource, "existing" | "absent" | "file">) {
    this.type = target.split("@")[0] ?? "";
    this.name = String(body["name"]);
    const { parent, scope } = body;
    if (parent instanceof Resource) this.id = `${parent.id}/${this.type.split("/").at(-1)}/${this.name}`;
    else this.id = `${scope instanceof Resource ? `${scope.id}/` : ""}${this.type}/${this.name}`;
    this.body = body;
    this.existing = from.existing;
    this.absent = from.absent;
    this.file = from.file;
  }
}

export const isFields = (value: Value | undefined): value is Fields =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Runtime) &&
  !(value instanceof Resource);

/** A property deep inside; undefined where it is absent. */
export function at(value: Value | undefined, ...path: readonly string[]): Value | undefined {
  return path.reduce<Value | undefined>((inner, key) => (isFields(inner) ? inner[key] : undefined), value);
}
