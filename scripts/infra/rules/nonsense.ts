import type { Facts } from "../facts.ts";

/** A parameter and what is wrong with its value. */
export interface Nonsense {
  readonly name: string;
  readonly says: string;
}

/** `parameter-file`: what no constraint of Bicep can say of the values of one parameter file. */
export function nonsense(given: Readonly<Record<string, unknown>>, facts: Facts): Nonsense[] {
  const at = (name: string, says: readonly string[]) => says.map((one) => ({ name, says: one }));
  const regions = entries(given["regions"]);
  const ready = entries(given["alwaysReady"]);
  return [
    ...at("environmentName", lower(given["environmentName"])),
    ...at("regions", [
      ...twice(regions, "name", "each app needs its own"),
      ...twice(regions, "short", "each app needs its own"),
      ...regions.flatMap(({ short }) => lower(short)),
    ]),
    ...at("namespace", namespace(given["namespace"], facts)),
    ...at("operators", twice(entries(given["operators"]), "principalId", "one entry says it all")),
    ...at("alwaysReady", twice(ready, "name", "add their instances up")),
    ...at("zoneRedundant", given["zoneRedundant"] === true ? ready.flatMap(tooFew) : []),
    ...at("addressPrefix", room(given["addressPrefix"], regions.length)),
    ...at("alertEmail", email(given["alertEmail"])),
  ];
}

type Entry = Readonly<Record<string, unknown>>;

/** The objects of a list; none where it is something else, which the types tell. */
const entries = (value: unknown): Entry[] =>
  Array.isArray(value) ? value.filter((one): one is Entry => typeof one === "object" && one !== null) : [];

function twice(all: readonly Entry[], key: string, why: string): string[] {
  const values = all.map((one) => one[key]).filter((one) => one !== undefined);
  const again = values.find((one, index) => values.indexOf(one) !== index);
  return again === undefined ? [] : [`${key} ${JSON.stringify(again)} is there twice; ${why}`];
}

/** They become part of the names of storage accounts and hosts. */
const lower = (value: unknown): string[] =>
  typeof value === "string" && !/^[a-z0-9]+$/.test(value)
    ? [`${JSON.stringify(value)} becomes part of names: use lower-case letters and digits`]
    : [];

const namespace = (value: unknown, facts: Facts): string[] =>
  value === undefined || facts.takes("LEASEFOLD_NAMESPACE", value)
    ? []
    : [`${JSON.stringify(value)}: use lower-case letters, digits and single dashes, beginning with a letter`];

/** Azure refuses fewer (its page on reliability of Functions). */
const tooFew = ({ name, instanceCount }: Entry): string[] =>
  typeof instanceCount === "number" && instanceCount < 2
    ? [`alwaysReady of ${name} is ${instanceCount}; over zones it must be at least 2`]
    : [];

/** Each region takes a /20; a subnet of its own for apps and one for endpoints fit into that. */
function room(value: unknown, regions: number): string[] {
  if (typeof value !== "string") return [];
  const [, address = "", bits] = /^([\d.]+)\/(\d{1,2})$/.exec(value) ?? [];
  const parts = address.split(".");
  if (bits === undefined || parts.length !== 4 || parts.some((one) => one === "" || Number(one) > 255))
    return [`${JSON.stringify(value)} is no address space such as 10.40.0.0/16`];
  const fits = Math.floor(2 ** (20 - Number(bits)));
  return fits < regions ? [`${value} has room for ${fits} of ${regions} regions; each takes a /20`] : [];
}

const email = (value: unknown): string[] =>
  typeof value === "string" && value !== "" && !/^[^@\s]+@[^@\s]+$/.test(value)
    ? [`${JSON.stringify(value)} is no mail address`]
    : [];
