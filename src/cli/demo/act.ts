import type { Client } from "../../client/client.ts";
import type { Embedded } from "../../local/embedded.ts";
import type { Screen, Session } from "../cli.ts";
import { duration } from "../render/amounts.ts";
import type { DemoOutput } from "./demoOutput.ts";
import { type KillPlan, nextStep } from "./killPlan.ts";
import type { Tracker } from "./tracker.ts";

export interface DemoOptions {
  readonly to?: number | undefined;
  readonly instances: number;
  readonly kill: boolean;
  readonly out: string;
  readonly cores: number;
  /** Tells other commands where the instances are. */
  readonly stateFile: string | undefined;
  readonly screen: Screen;
}

/** What the parts of the demo share. */
export interface Stage {
  readonly session: Session;
  readonly options: DemoOptions;
  readonly tracker: Tracker;
  readonly embedded: Embedded;
  readonly client: Client;
  readonly output: DemoOutput;
  now(): number;
}

/** Notes a new leader, however that came about. */
export function tellLeader(tracker: Tracker, see: () => void, plan: KillPlan, nowMs: number): void {
  const before = tracker.leader()?.term;
  see();
  const leads = tracker.leader();
  // A takeover after the kill is told with its time.
  const isTakeover = plan.killed !== undefined && plan.takeover === undefined;
  if (leads === undefined || leads.term === before || isTakeover) return;
  tracker.note(`${leads.name} won the lease and leads in term ${leads.term}`, "plain", nowMs);
}

/** Does what the plan says is due: kills the leader, tells who took over, starts the killed one again. */
export async function act({ options, tracker, embedded, now }: Stage, before: KillPlan): Promise<KillPlan> {
  const { instances } = embedded;
  const facts = {
    nowMs: now(),
    share: tracker.share(),
    leader: tracker.leader(),
    instances: options.instances,
  };
  const { step, plan } = nextStep(before, facts);
  const index = instances.instances.findIndex(({ name }) => name === plan.killed?.name);
  if (step === "kill" && plan.killed !== undefined) {
    const { name, term } = plan.killed;
    tracker.note(`SIGKILL to ${name}, the leader of term ${term}`, "bad", now());
    await instances.kill(index);
  }
  if (step === "taken-over" && plan.takeover !== undefined) {
    const { by, term, afterMs } = plan.takeover;
    tracker.note(
      `${by} took over in term ${term}, after ${seconds(afterMs)} without a leader`,
      "good",
      now(),
    );
  }
  if (step === "restart") {
    const name = plan.killed?.name ?? "";
    tracker.note(`${name} is started again`, "plain", now());
    const back = () => tracker.note(`${name} is back`, "good", now());
    instances.restart(index).then(back, () => tracker.note(`${name} did not start again`, "bad", now()));
  }
  return plan;
}

const seconds = (ms: number): string => duration(ms / 1_000);
