import type { RunView } from "../../../../src/engine/client/runView.ts";
import { client, useDoing } from "../../data/hooks.ts";
import type { Verb } from "./steering.ts";

/** What a person says besides the verb. */
export interface Given {
  readonly cap?: number;
  readonly maxCost?: number | undefined;
  readonly keep?: boolean;
}

/** Sends what a control asks for, and tells by `text` that it was accepted. */
export function useVerb(view: RunView, onDone: (text: string) => void) {
  const { now, start } = useDoing<unknown>();
  const send = async (verb: Exclude<Verb, "verify">, text: string, given: Given = {}): Promise<void> => {
    const { keep = false, ...bounds } = given;
    const run = client.run(view.run);
    const sent = await start(() => {
      if (verb === "cap") return run.cap(bounds);
      if (verb === "cancel") return run.cancel(keep ? { keep } : {});
      if (verb === "retry") return run.retry({ generation: view.generation + 1 });
      return run[verb]();
    });
    if (sent !== undefined) onDone(text);
  };
  return { now, send };
}
