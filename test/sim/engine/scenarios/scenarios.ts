import type { SimulationResult } from "../stage.ts";
import { awaited } from "./awaited.ts";
import { backOff } from "./backOff.ts";
import { besideHung } from "./besideHung.ts";
import { byHand } from "./byHand.ts";
import { calm } from "./calm.ts";
import { changedCode } from "./changedCode.ts";
import { closes } from "./closes.ts";
import { completionEvents } from "./completionEvents.ts";
import { deletes } from "./deletes.ts";
import { doomedChunkScenarios } from "./doomedChunks.ts";
import { endless } from "./endless.ts";
import { forgeries } from "./forgeries.ts";
import { gaps } from "./gaps.ts";
import { inFlight } from "./inFlight.ts";
import { localWork } from "./localWork.ts";
import { lost } from "./lost.ts";
import { maxCosts } from "./maxCost.ts";
import { pauses } from "./pauses.ts";
import { poison } from "./poison.ts";
import { rest } from "./rest.ts";
import { retries } from "./retries.ts";
import { reuse } from "./reuse.ts";
import { saves } from "./saves.ts";
import { schedules } from "./schedules.ts";
import { sharedTimer } from "./sharedTimer.ts";
import { stops } from "./stops.ts";
import { versions } from "./versions.ts";
import { zombies } from "./zombies.ts";

export type Scenario = () => Promise<SimulationResult>;

/** What a reader of the protocol fears, by name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  ...pauses,
  ...retries,
  ...deletes,
  ...closes,
  ...completionEvents,
  ...forgeries,
  ...poison,
  ...versions,
  ...changedCode,
  ...zombies,
  ...endless,
  ...rest,
  ...localWork,
  ...awaited,
  ...lost,
  ...inFlight,
  ...besideHung,
  ...calm,
  ...sharedTimer,
  ...reuse,
  ...saves,
  ...gaps,
  ...doomedChunkScenarios,
  ...stops,
  ...schedules,
  ...backOff,
  ...byHand,
  ...maxCosts,
};
