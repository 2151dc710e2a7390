import { simNames as names } from "../../support/engineWorld.ts";
import { burnMessages } from "./hostile.ts";
import type { Stage } from "./stage.ts";

/** Burns the next message with this word, its kind or a field, before anyone runs it, so many times. */
export function burnNext(script: Stage, word: string, times: number): () => number {
  let burnt = 0;
  script.hold = ({ op, args }) => {
    if (op !== "queues.receive" || burnt >= times) return undefined;
    return burnIfThere(String(args[0]));
  };
  async function burnIfThere(queue: string): Promise<void> {
    if (queue !== names.urgent && queue !== names.packs) return;
    const { storage } = script.engine;
    const waiting = await storage.queues.peek(queue, 32);
    const fresh = waiting.some(({ text, dequeueCount }) => dequeueCount === 0 && text.includes(`"${word}"`));
    if (!fresh || burnt >= times) return;
    burnt += 1;
    await burnMessages(storage, queue);
  }
  return () => burnt;
}
