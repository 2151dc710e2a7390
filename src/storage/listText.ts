import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Lets the SDK ask for a list, with its signing, repeats and errors, without reading what comes: its reader takes a
 * quarter millisecond for each name (docs/DECISIONS.md). Our HTTP client below the SDK keeps the text for whoever asked
 * and hands up an empty list. The asker is known by the asynchronous context, so that lists at once do not mix.
 */
export async function withListText<T>(ask: () => Promise<T>): Promise<{ answer: T; text: string }> {
  const kept: { text?: string } = {};
  const answer = await asking.run(kept, ask);
  if (kept.text === undefined) throw new Error("the SDK asked for a list outside of the call that wanted it");
  return { answer, text: kept.text };
}

/** For the HTTP client: what to hand to the SDK for this answer. Only a successful one is kept. */
export function keepListText<T extends { readonly status: number; readonly bodyAsText?: string | null }>(
  answer: T,
): T {
  const kept = asking.getStore();
  if (kept === undefined || answer.status !== 200) return answer;
  kept.text = answer.bodyAsText ?? "";
  return { ...answer, bodyAsText: emptyList };
}

const asking = new AsyncLocalStorage<{ text?: string }>();

const emptyList = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>`;
