import { isFields, type Lambda, Resource, Runtime, type Value } from "./values.ts";

const list = (value: Value | undefined): readonly Value[] => {
  if (Array.isArray(value)) return value;
  throw new Error(`${JSON.stringify(value)} is no list`);
};
const text = (value: Value | undefined): string => String(value instanceof Resource ? value.id : value);
const fields = (value: Value | undefined) => {
  if (isFields(value)) return value;
  throw new Error(`${JSON.stringify(value)} is no object`);
};

/** As long as the real one, and the same for the same arguments within one evaluation. */
const unique = "unique0000000";

/** The functions of Bicep that the templates call. What depends on the subscription is a text that shows the arguments. */
export const functions: Readonly<Record<string, (...given: Value[]) => Value>> = {
  concat: (...lists) => lists.flatMap(list),
  contains: (whole, part) =>
    Array.isArray(whole)
      ? whole.includes(part ?? null)
      : isFields(whole)
        ? text(part) in whole
        : text(whole).includes(text(part)),
  cidrSubnet: (prefix, bits, index) => cidrSubnet(text(prefix), Number(bits), Number(index)),
  empty: (value) =>
    value === null ||
    value === "" ||
    (Array.isArray(value) && value.length === 0) ||
    (isFields(value) && Object.keys(value).length === 0),
  environment: () => ({ portal: "https://portal.example", suffixes: { storage: "core.example" } }),
  guid: (...parts) => `guid(${parts.map(text).join(", ")})`,
  items: (object) =>
    Object.entries(fields(object))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => ({ key, value })),
  join: (all, between) => list(all).map(text).join(text(between)),
  length: (value) => (typeof value === "string" ? value.length : list(value).length),
  map: (all, change) => list(all).map((one) => (change as Lambda)(one)),
  mapValues: (object, change) =>
    Object.fromEntries(
      Object.entries(fields(object)).map(([key, value]) => [key, (change as Lambda)(value)]),
    ),
  max: (...numbers) => Math.max(...numbers.map(Number)),
  range: (start, count) => Array.from({ length: Number(count) }, (_, i) => Number(start) + i),
  replace: (whole, from, to) => text(whole).replaceAll(text(from), text(to)),
  resourceGroup: () => ({ id: new Runtime("group"), location: "northeurope" }),
  resourceId: (type, ...names) => nestedId(text(type), names.map(text)),
  startsWith: (whole, part) => text(whole).startsWith(text(part)),
  subscription: () => ({ subscriptionId: new Runtime("subscription") }),
  string: (value) => (typeof value === "object" ? JSON.stringify(value) : text(value)),
  subscriptionResourceId: (type, name) => `${text(type)}/${text(name)}`,
  tenant: () => ({ tenantId: new Runtime("tenant") }),
  union: (...all) =>
    Array.isArray(all[0])
      ? [...new Set(all.flatMap(list))]
      : all.reduce<Value>((sum, one) => ({ ...fields(sum), ...fields(one) }), {}),
  uniqueString: () => unique,
};

/** `A/b/c` with two names becomes `A/b/NAME/c/NAME`, as in `Resource.id`. */
function nestedId(type: string, names: readonly string[]): string {
  const [provider = "", first = "", ...more] = type.split("/");
  return [`${provider}/${first}/${names[0]}`, ...more.map((one, i) => `${one}/${names[i + 1]}`)].join("/");
}

/** The `index`-th range of that many bits in an address space; throws where it has no room. */
function cidrSubnet(prefix: string, bits: number, index: number): string {
  const [address = "", length] = prefix.split("/");
  const number = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  if (bits < Number(length) || index >= 2 ** (bits - Number(length)))
    throw new Error(`${prefix} has no range ${index} of /${bits}`);
  const start = number + index * 2 ** (32 - bits);
  return `${[24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256).join(".")}/${bits}`;
}
