import type { RunView } from "../../../../engine/client/runView.ts";
import { api, useDoing } from "../../data/hooks.ts";
import { type Given, pathOf, requestOf, type Verb } from "./steering.ts";

/** Sends what a control asks for, and tells by `text` that it was accepted. */
export function useVerb(view: RunView, onDone: (text: string) => void) {
  const { now, start } = useDoing<unknown>();
  const send = async (verb: Exclude<Verb, "verify">, text: string, given: Given = {}): Promise<void> => {
    const { suffix, asked } = requestOf(verb, given);
    const sent = await start((signal) => api.ask(`${pathOf(view.run)}${suffix}`, { ...asked, signal }));
    if (sent !== undefined) onDone(text);
  };
  return { now, send };
}
