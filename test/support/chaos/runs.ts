import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../../src/engine/client/client.ts";
import { command } from "../../../src/engine/client/commands/command.ts";
import { findManifest, openResult } from "../../../src/engine/client/result.ts";
import { status } from "../../../src/engine/client/status.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { InputError } from "../../../src/engine/model/errors.ts";
import { scheduledRunId } from "../../../src/engine/model/names.ts";
import type { Fleet } from "./fleet.ts";
import { pausedMs, type Shape, scheduled } from "./shapes.ts";

export interface EndedRun {
  readonly shape: string;
  readonly id: string;
  /** From the call of submit, or the due time, until it was seen that it had ended. */
  readonly ms: number;
  readonly limitMs: number;
  /** `complete`, another end, or the phase in which it was when its time was over. */
  readonly phase: string;
  readonly complete: boolean;
  /** Empty without a result. */
  readonly result: string;
}

/** Submits a run on the bad way, steers it as its shape says and waits for its end, at most so long. */
export async function playRun(fleet: Fleet, shape: Shape, tag: string, limitMs: number): Promise<EndedRun> {
  const startedMs = performance.now();
  const id = `${shape.name.replaceAll(" ", "-")}-${tag}`;
  const request = { ...shape.request, id };
  await persist(() => submit(fleet.far, request));
  let pausing = shape.pauseOnce;
  for (;;) {
    const view = await status(fleet.direct, id);
    const ms = performance.now() - startedMs;
    if (!view.active || ms > limitMs) return endedRun(fleet, shape.name, id, ms, limitMs);
    if (pausing?.(view) === true) {
      pausing = undefined;
      await steer(fleet, id, "pause");
      await sleep(pausedMs);
      await steer(fleet, id, "resume");
    }
    await sleep(pollMs);
  }
}

const pollMs = 300;

/** What refuses the command has ended meanwhile. */
const steer = (fleet: Fleet, id: string, kind: "pause" | "resume") =>
  persist(() =>
    command(fleet.far, id, { kind }).catch((error: unknown) => {
      if (!(error instanceof InputError)) throw error;
    }),
  );

async function endedRun(
  { direct }: Fleet,
  shape: string,
  id: string,
  ms: number,
  limitMs: number,
): Promise<EndedRun> {
  const view = await status(direct, id);
  const of = { shape, id, ms, limitMs, phase: view.phase };
  if (view.phase !== "complete") return { ...of, complete: false, result: view.error?.message ?? "" };
  const { complete } = await findManifest(direct, id);
  return { ...of, complete, result: await resultOf(direct, id) };
}

/** The bytes of a result, as text. */
export async function resultOf(client: Client, id: string): Promise<string> {
  const opened = await openResult(client, await findManifest(client, id));
  const parts: Uint8Array[] = [];
  for await (const part of opened.body) parts.push(part);
  return Buffer.concat(parts).toString();
}

/**
 * Those of the due times of a schedule, from when it was made until it was deleted, each from its due time. One that was not
 * begun counts as `missing`, but for the last minute, whose due time the deletion may have met.
 */
export async function scheduledRuns(
  fleet: Fleet,
  of: { readonly name: string; readonly fromMs: number; readonly toMs: number },
  limitMs: number,
): Promise<EndedRun[]> {
  const first = Math.ceil(of.fromMs / 60_000) * 60_000;
  const found: EndedRun[] = [];
  for (let dueMs = first; dueMs < of.toMs; dueMs += 60_000) {
    const one = await scheduledRun(fleet, scheduledRunId(of.name, dueMs), dueMs, limitMs);
    if (one.phase !== "missing" || dueMs < of.toMs - 60_000) found.push(one);
  }
  return found;
}

async function scheduledRun(fleet: Fleet, id: string, dueMs: number, limitMs: number): Promise<EndedRun> {
  for (;;) {
    const view = await status(fleet.direct, id).catch((error: unknown) => {
      if (error instanceof InputError) return undefined;
      throw error;
    });
    if (view === undefined)
      return { shape: scheduled.name, id, ms: 0, limitMs, phase: "missing", complete: false, result: "" };
    const ms = (view.finishedAt === undefined ? Date.now() : Date.parse(view.finishedAt)) - dueMs;
    if (!view.active || ms > limitMs) return endedRun(fleet, scheduled.name, id, ms, limitMs);
    await sleep(pollMs);
  }
}

/** Does again what failed for the way to storage, as a person would: every call of a client may be repeated. */
export async function persist<T>(call: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + persistMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof InputError || performance.now() > endMs) throw error;
      await sleep(200);
    }
  }
}

const persistMs = 60_000;
