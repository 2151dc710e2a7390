import type { Client } from "../../client/client.ts";
import type { Embedded } from "../../local/embedded.ts";
import type { Screen, Session } from "../cli.ts";
import type { DemoOutput } from "./demoOutput.ts";
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
