import type { Client } from "./client.ts";
import { readStatus } from "./status.ts";

/** Leads in this invocation until the signal fires, unless somebody leads; resolves when that is over. Never rejects. */
export type Lead = (until: AbortSignal) => Promise<unknown>;

const pollMs = 1_000;
/** A young run may end at once: it is looked at after a fifth of its age, and this. */
const firstPollMs = 50;
/** A lease is handed over in less. */
const handOverMs = 1_000;

/**
 * The status of a run when it enters another phase or has ended, or after `waitMs`. Throws what `readStatus` throws.
 *
 * Nobody has led a run that still waits, and its wake lies in the queue until the host polls. The invocation that waits for it
 * leads meanwhile, and answers when that is over: a small run has ended by then.
 */
export async function awaitRun(client: Client, id: string, waitMs: number, lead?: Lead) {
  const { clock } = client;
  const untilMs = clock.monotonicMs() + waitMs;
  let shown = await readStatus(client, id);
  const { phase } = shown.view;
  if (waitMs <= 0) return shown;
  const answered = new AbortController();
  const term = phase === "waiting" ? lead?.(answered.signal) : undefined;
  let leads = term !== undefined;
  const over = term?.then(() => {
    leads = false;
  });
  for (;;) {
    const leftMs = untilMs - clock.monotonicMs();
    const { view } = shown;
    if (!view.active || leftMs <= 0 || (view.phase !== phase && !leads)) break;
    const soonMs = firstPollMs + 200 * view.elapsedS;
    const pause = clock.sleep(Math.min(soonMs, pollMs, leftMs), answered.signal);
    await (leads ? Promise.race([pause, over]) : pause);
    shown = await readStatus(client, id);
  }
  answered.abort();
  // What it leads it hands over before the invocation ends.
  if (leads) await Promise.race([over, clock.sleep(handOverMs)]);
  return shown;
}
