/** JSON as Azure's compiler writes it: templates and snapshots. */
export type Json = string | number | boolean | null | undefined | readonly Json[] | Fields;
export interface Fields {
  readonly [key: string]: Json;
}

export const isFields = (value: Json): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at a path of keys; undefined where there is none. */
export const at = (value: Json, ...path: readonly string[]): Json =>
  path.reduce<Json>((inner, key) => (isFields(inner) ? inner[key] : undefined), value);

export const fieldsAt = (value: Json, ...path: readonly string[]): Fields => {
  const found = at(value, ...path);
  return isFields(found) ? found : {};
};

export const listAt = (value: Json, ...path: readonly string[]): readonly Json[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** A resource of a snapshot: what a deployment would make. What only Azure knows is an expression in `[…]`. */
export interface Resource extends Fields {
  readonly id: string;
  readonly type: string;
  /** With the names of those that it is part of, as in `account/default/container`. */
  readonly name: string;
}

export const prop = (one: Resource, ...path: readonly string[]): Json => at(one, "properties", ...path);
export const nameOf = ({ name }: Resource): string => name.split("/").at(-1) ?? "";
export const ofType = (all: readonly Resource[], type: string): Resource[] =>
  all.filter((one) => one.type === type);

export const roleAssignments = "Microsoft.Authorization/roleAssignments";

/** One role assignment of a snapshot. */
export interface Assignment {
  /** Id of what the role is on. */
  readonly scope: string;
  readonly roleId: string;
  /** Object id, or the name of the identity or resource whose id Azure will give. */
  readonly principal: string;
  readonly condition: string | undefined;
}

/** The assignments of a snapshot. The id of one holds its scope, in an expression where Azure gives the principal's id. */
export function assignmentsOf(all: readonly Resource[]): Assignment[] {
  return ofType(all, roleAssignments).map((one) => {
    const whole = /^\[extensionResourceId\('([^']+)'/.exec(one.id)?.[1];
    const principal = String(prop(one, "principalId"));
    const condition = prop(one, "condition");
    return {
      scope: whole ?? one.id.split(`/providers/${roleAssignments}`)[0] ?? "",
      roleId: String(prop(one, "roleDefinitionId")).split("/").at(-1) ?? "",
      principal: /^\[reference\('[^']*\/([^'/]+)'/.exec(principal)?.[1] ?? principal,
      condition: typeof condition === "string" ? condition : undefined,
    };
  });
}
