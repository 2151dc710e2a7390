/**
 * Addresses of the page, all in the fragment, which no server sees: `#/runs/ID?gen=2&shard=17`. A key is never part of
 * one; `#token=…` is taken out before the first address is read.
 */
export type Route =
  | { readonly view: "overview"; readonly since?: string }
  | {
      readonly view: "runs";
      readonly phase?: string;
      readonly calculation?: string;
      /** Words: tags with `=`, and the beginning of an id. */
      readonly search?: string;
      readonly cursor?: string;
    }
  | { readonly view: "run"; readonly run: string; readonly gen?: number; readonly shard?: number }
  | { readonly view: "schedules" }
  | { readonly view: "system"; readonly queue?: string }
  | { readonly view: "submit"; readonly calculation?: string; readonly from?: string }
  | { readonly view: "unknown"; readonly path: string };

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s, 2);
  const asked = new URLSearchParams(query);
  const text = (name: string) => {
    const value = asked.get(name);
    return value === null || value === "" ? {} : { [name]: value };
  };
  const whole = (name: string) => {
    const value = asked.get(name) ?? "";
    return /^\d{1,9}$/.test(value) ? { [name]: Number(value) } : {};
  };
  const [view = "", item, ...rest] = path.split("/").filter((part) => part !== "");
  const name = item === undefined ? undefined : decoded(item);
  if (rest.length > 0 || (name === undefined && item !== undefined)) return { view: "unknown", path };
  if (view === "") return { view: "overview", ...text("since") };
  if (view === "runs" && name === undefined)
    return { view: "runs", ...text("phase"), ...text("calculation"), ...text("search"), ...text("cursor") };
  if (view === "runs" && name !== undefined)
    return { view: "run", run: name, ...whole("gen"), ...whole("shard") };
  if (view === "schedules" && name === undefined) return { view };
  if (view === "system") return { view, ...(name === undefined ? {} : { queue: name }) };
  if (view === "submit" && name === undefined)
    return { view: "submit", ...text("calculation"), ...text("from") };
  return { view: "unknown", path };
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** The address of a view; `parseRoute` reads it back. */
export function hashOf(route: Exclude<Route, { view: "unknown" }>): string {
  const query = (given: Readonly<Record<string, string | number | undefined>>): string => {
    const entries = Object.entries(given).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[name, String(value)]],
    );
    return entries.length === 0 ? "" : `?${new URLSearchParams(entries)}`;
  };
  switch (route.view) {
    case "runs": {
      const { phase, calculation, search, cursor } = route;
      return `#/runs${query({ phase, calculation, search, cursor })}`;
    }
    case "run":
      return `#/runs/${encodeURIComponent(route.run)}${query({ gen: route.gen, shard: route.shard })}`;
    case "system":
      return `#/system${route.queue === undefined ? "" : `/${encodeURIComponent(route.queue)}`}`;
    case "overview":
      return `#/${query({ since: route.since })}`;
    case "submit":
      return `#/submit${query({ calculation: route.calculation, from: route.from })}`;
    case "schedules":
      return "#/schedules";
  }
}

/** The key in `#token=…`, and the fragment that stays. */
export function takeToken(hash: string): { readonly token?: string; readonly rest: string } {
  const match = /^#token=([^&]*)(?:&(.*))?$/s.exec(hash);
  if (match === null) return { rest: hash };
  const token = decoded(match[1] ?? "");
  const rest = (match[2] ?? "").startsWith("/") ? `#${match[2]}` : "#/";
  return token === undefined || token === "" ? { rest } : { token, rest };
}
