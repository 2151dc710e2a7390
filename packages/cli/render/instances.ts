import { relative } from "node:path";
import { z } from "zod";
import type { DescribedCalculation } from "../../../src/engine/client/describeCalculations.ts";
import { requiredOptions } from "../freeOptions.ts";
import type { InstanceEvent } from "../local/instances.ts";
import type { LocalFile } from "../local/localFile.ts";
import { findUserApp } from "../local/userApp.ts";
import { countOf, duration, oneLine, shellText } from "./text.ts";

const schema = z.looseObject({ event: z.string() });

/** An event that the app has logged as JSON; undefined for any other line. */
export function appEventOf(message: string): z.infer<typeof schema> | undefined {
  if (!message.startsWith("{")) return undefined;
  try {
    return schema.parse(JSON.parse(message));
  } catch {
    return undefined;
  }
}

/** What happened on an instance, on one line for people; undefined if it is not worth one. */
export function instanceLine(event: InstanceEvent): string | undefined {
  if (event.kind === "state") return stateLine(event);
  if (event.kind !== "log") return undefined;
  const { instance, level } = event;
  const app = appEventOf(event.message);
  if (app?.event === "lease-claimed") return `${instance} leads in term ${app["term"]}`;
  if (app?.event === "lease-released" && Number(app["term"]) > 0 && app["cause"] !== "done") {
    return `${instance} gave up the lead of term ${app["term"]} (${app["cause"]})`;
  }
  if (app?.event === "run-ended") {
    return oneLine(`run ${app["run"]} is ${app["phase"]}, ${countOf(Number(app["packs"]), "pack")}`);
  }
  if (!["warning", "error", "critical"].includes(level)) return undefined;
  const { event: name, uid: _uid, ...fields } = app ?? { event: event.message };
  const text = Object.entries(fields).map(([field, value]) => `${field}=${value}`);
  return `${instance} ${level}: ${oneLine([name, ...text].join(" "))}`;
}

function stateLine({ instance, state, reason, pauseMs = 0 }: Extract<InstanceEvent, { kind: "state" }>) {
  const why = reason === undefined ? "" : ` (${oneLine(reason)})`;
  switch (state) {
    case "restarting": {
      const pause = pauseMs > 1_000 ? ` in ${duration(pauseMs / 1_000)}` : "";
      return `${instance} ended${why} and is started again${pause}`;
    }
    case "dead":
      return reason === "stopped" ? undefined : `${instance} is dead${why}`;
    case "running":
      return `${instance} is ready`;
    default:
      return undefined;
  }
}

/** Which instances of `leasefold up` have ended and wait for their restart, on one line; undefined if all run. */
export function instancesDown(instances: LocalFile["instances"]): string | undefined {
  const down = instances.flatMap(({ name, down }) =>
    down === undefined ? [] : [`${name} ended ${times(down.ends)} (${oneLine(down.reason)})`],
  );
  if (down.length === 0) return undefined;
  const one = down.length === 1;
  const which =
    down.length === instances.length
      ? "no instance runs"
      : `${down.length} of ${instances.length} instances ${one ? "does" : "do"} not run`;
  return `${which}: ${down.join(", ")}; "leasefold up" starts ${one ? "it" : "them"} again`;
}

interface Addresses extends Pick<LocalFile, "connectionString"> {
  readonly instances: readonly Pick<LocalFile["instances"][number], "name" | "httpUrl">[];
}

/**
 * Where storage and instances are, and how to get at their keys. `data` is the folder that keeps the storage. The address
 * of the dashboard has the key, which opens everything; so it is shown only where it is asked for.
 */
export function addressLines(
  { connectionString, instances }: Addresses,
  data: string | undefined,
  dashboard?: string,
): readonly string[] {
  const width = Math.max(dashboard === undefined ? 7 : 9, ...instances.map(({ name }) => name.length));
  const blobs = /BlobEndpoint=([^;]+)/.exec(connectionString)?.[1] ?? "";
  const kept = data === undefined ? "in memory" : `kept in ${data}`;
  return [
    `${"storage".padEnd(width)}  ${blobs} (${kept})`,
    ...instances.map(({ name, httpUrl }) => `${name.padEnd(width)}  ${httpUrl}/api`),
    ...(dashboard === undefined ? [] : [`${"dashboard".padEnd(width)}  ${dashboard}`]),
    '"leasefold show" prints their API key, the dashboard with it, and a connection string for Storage Explorer',
  ];
}

/**
 * What one does next: submits the last calculation of one's own, or a built-in one. The line is copied, and an app of a user's own
 * has the program among its packages alone. Elsewhere messages name a command by `leasefold`, as the pages do.
 */
export function nextStep(folder: string, own?: OwnCalculation): string {
  const leasefold = findUserApp(folder) === undefined ? "leasefold" : "npx --no-install leasefold";
  if (own === undefined) return `${leasefold} submit primes --to 1e9 --wait`;
  const file = shellText(`./${relative(folder, own.file).replaceAll("\\", "/")}`);
  return `${leasefold} submit ${file}${requiredOptions(own)} --wait`;
}

/** A file of a user's own, absolute, and the parameters of the calculation in it. */
export interface OwnCalculation extends Pick<DescribedCalculation, "params" | "schema"> {
  readonly file: string;
}

const times = (ends: number): string => (ends === 1 ? "once" : `${ends} times`);
