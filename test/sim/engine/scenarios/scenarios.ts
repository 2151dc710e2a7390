import type { SimulationResult } from "../stage.ts";
import { changedCode } from "./changedCode.ts";
import { closes } from "./closes.ts";
import { deletes } from "./deletes.ts";
import { pauses } from "./pauses.ts";
import { poison } from "./poison.ts";
import { retries } from "./retries.ts";
import { versions } from "./versions.ts";
import { zombies } from "./zombies.ts";

export type Scenario = () => Promise<SimulationResult>;

/** What a reader of the protocol fears, by name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  ...pauses,
  ...retries,
  ...deletes,
  ...closes,
  ...poison,
  ...versions,
  ...changedCode,
  ...zombies,
};
