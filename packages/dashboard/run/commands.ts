import type { RunView } from "../../../src/engine/client/runView.ts";
import { valueText } from "../../../src/engine/model/json.ts";

/** Commands that a person can paste into a terminal. No command contains a key. */

/** A word of a shell: bare if it is harmless, else in single quotes. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text) && !text.startsWith("-")) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The submit of a run with these parameters, each as `--param`, which no option of the CLI can be mistaken for. */
export function submitCommand(calculation: string, params: unknown): string {
  const entries = typeof params === "object" && params !== null ? Object.entries(params) : [];
  const given = entries
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `--param ${shellWord(`${name}=${valueText(value)}`)}`);
  return ["leasefold submit", shellWord(calculation), ...given].join(" ");
}

/** The same over HTTP. The key stays a variable of the shell. */
export function submitCurl(calculation: string, params: unknown, apiUrl: string): string {
  const body = JSON.stringify({ calculation, params });
  return [
    'curl -H "x-functions-key: $LEASEFOLD_KEY" -H "content-type: application/json"',
    `-d ${shellWord(body)} ${shellWord(new URL("runs", apiUrl).href)}`,
  ].join(" ");
}

export const watchCommand = ({ run }: Pick<RunView, "run">): string => `leasefold watch ${shellWord(run)}`;

export const resultCommand = ({ run }: Pick<RunView, "run">): string => `leasefold result ${shellWord(run)}`;
