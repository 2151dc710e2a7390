import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Azurite } from "../../packages/cli/local/azurite.ts";
import { embeddedEnv } from "../../packages/cli/local/instanceEnv.ts";
import { type InstanceEvent, type Instances, startInstances } from "../../packages/cli/local/instances.ts";
import { patienceMs } from "./patience.ts";

/** Two instances of a build, and what they reported. */
export interface Fleet extends Instances {
  readonly told: readonly InstanceEvent[];
}

/** Another build that is idle takes few messages, which it would put back for half a minute. */
const env = { AzureFunctionsJobHost__extensions__queues__maxPollingInterval: "00:00:02" };

/** `build` names the instances. */
export async function startFleet(
  build: string,
  appDir: string,
  azurite: Azurite,
  calculations: readonly string[],
): Promise<Fleet> {
  const told: InstanceEvent[] = [];
  const fleet = await startInstances({
    ...{ count: 2, appDir, instanceEntry: join(appDir, "dist", "instance.cjs"), stopGraceMs: 2_000 },
    storage: { DataStorage: azurite.connectionString },
    env: (_name, index) =>
      embeddedEnv({ instances: 4, namespace: "leasefold", calculations, index, cores: 2, env }),
    nameOf: (index) => `${build}-${index + 1}`,
    onEvent: (event) => void told.push(event),
  });
  return { ...fleet, told };
}

/** Asks an instance of a fleet; one that was killed has another beside it, or comes back. */
export async function ask(fleet: Fleet, path: string, init: RequestInit = {}): Promise<Response> {
  for (let tries = 0; ; tries += 1) {
    const one = fleet.instances[tries % fleet.instances.length];
    const headers = { "x-functions-key": fleet.functionKey, "content-type": "application/json" };
    const answer = await fetch(`${one?.httpUrl}/api/${path}`, { ...init, headers }).catch(() => undefined);
    if (answer?.ok) return answer;
    if (tries > 240) throw new Error(`${path}: ${answer?.status} ${await answer?.text()}`);
    await sleep(250);
  }
}

interface View {
  readonly word: string;
  readonly packs?: { readonly done: number };
}

/** Polls a run; `waits` times as long as usual. */
export async function until(
  fleet: Fleet,
  run: string,
  done: (view: View) => boolean,
  waits = 1,
): Promise<View> {
  const endMs = performance.now() + waits * patienceMs;
  for (;;) {
    const view = (await (await ask(fleet, `runs/${run}`)).json()) as View;
    if (done(view)) return view;
    if (performance.now() > endMs) throw new Error(`not in time: ${JSON.stringify(view)}`);
    await sleep(200);
  }
}
