import { setTimeout as sleep } from "node:timers/promises";
import { type Embedded, type EmbeddedOptions, startEmbedded } from "../../packages/cli/local/embedded.ts";
import type { InstanceEvent } from "../../packages/cli/local/instances.ts";
import { builtIn } from "../../packages/sql/builtIn.ts";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { findManifest, openResult } from "../../src/engine/client/result.ts";
import type { RunView } from "../../src/engine/client/runView.ts";
import { status } from "../../src/engine/client/status.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { patienceMs } from "./patience.ts";

/** The built app in real processes on a real Azurite, and a client of it. */
export interface RealApp extends Embedded {
  readonly client: Client;
  /** Everything that the instances reported, with the moment of this process's monotonic clock. */
  readonly events: (InstanceEvent & { readonly atMs: number })[];
  /** Polls the run each `everyMs` until the condition holds; throws with its last view where it never does. */
  until(id: string, done: (view: RunView) => boolean, everyMs?: number): Promise<RunView>;
  result(id: string): Promise<string>;
}

/** The client knows the same calculation files as the instances: a run's identity is that of the code that submits it. */
export async function startRealApp(options: Omit<EmbeddedOptions, "onEvent">): Promise<RealApp> {
  const events: RealApp["events"] = [];
  const onEvent = (event: InstanceEvent) => void events.push({ ...event, atMs: performance.now() });
  const embedded = await startEmbedded({ ...options, onEvent });
  const { connectionString } = embedded;
  const calculations = await loadCalculations(options.calculations ?? [], builtIn);
  const storage = connectStorage({ connectionString });
  const client: Client = { storage, names: namesOf("leasefold"), clock, random, calculations };
  return {
    ...embedded,
    client,
    events,
    async until(id, done, everyMs = 250) {
      const endMs = performance.now() + patienceMs;
      for (;;) {
        const view = await status(client, id);
        if (done(view)) return view;
        if (performance.now() > endMs) throw new Error(`not in ${patienceMs} ms: ${JSON.stringify(view)}`);
        await sleep(everyMs);
      }
    },
    async result(id) {
      const opened = await openResult(client, await findManifest(client, id));
      const parts: Uint8Array[] = [];
      for await (const part of opened.body) parts.push(part);
      return Buffer.concat(parts).toString();
    },
  };
}
