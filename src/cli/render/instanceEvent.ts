import { z } from "zod";
import type { InstanceEvent } from "../../local/instances.ts";
import { duration } from "./amounts.ts";
import { oneLine } from "./text.ts";

/** One line of an instance's log that the app wrote as an event of its catalogue. */
export interface AppEvent {
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const schema = z.looseObject({ event: z.string() });

/** Undefined for any other text. */
export function appEventOf(message: string): AppEvent | undefined {
  if (!message.startsWith("{")) return undefined;
  try {
    const { event, ...fields } = schema.parse(JSON.parse(message));
    return { event, fields };
  } catch {
    return undefined;
  }
}

/** What happened on an instance, on one line for people; undefined where it is not worth one. */
export function instanceLine(event: InstanceEvent): string | undefined {
  if (event.kind === "state") return stateLine(event);
  if (event.kind !== "log") return undefined;
  const app = appEventOf(event.message);
  if (app?.event === "lease-claimed") return `${event.instance} leads in term ${app.fields["term"]}`;
  if (app?.event === "lease-released" && Number(app.fields["term"]) > 0 && app.fields["cause"] !== "done") {
    return `${event.instance} gave up the lead of term ${app.fields["term"]} (${app.fields["cause"]})`;
  }
  if (app?.event === "run-ended") {
    const { run, phase, packs } = app.fields;
    return oneLine(`run ${run} is ${phase}, ${packs} packs`);
  }
  if (!["warning", "error", "critical"].includes(event.level)) return undefined;
  const said = app === undefined ? event.message : `${app.event} ${fieldsOf(app)}`;
  return `${event.instance} ${event.level}: ${oneLine(said)}`;
}

function stateLine({ instance, state, reason, pauseMs = 0 }: Extract<InstanceEvent, { kind: "state" }>) {
  const why = reason === undefined ? "" : ` (${oneLine(reason)})`;
  switch (state) {
    case "restarting":
      return `${instance} ended${why} and is started again${pauseMs > 1_000 ? ` in ${duration(pauseMs / 1_000)}` : ""}`;
    case "dead":
      return reason === "stopped" ? undefined : `${instance} is dead${why}`;
    case "running":
      return `${instance} is ready`;
    default:
      return undefined;
  }
}

const fieldsOf = ({ fields }: AppEvent): string =>
  Object.entries(fields)
    .filter(([name]) => name !== "uid")
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
