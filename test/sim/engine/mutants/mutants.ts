import { backOffRules } from "./backOffRules.ts";
import { changedCodeRules } from "./changedCodeRules.ts";
import { endRules } from "./endRules.ts";
import { gapRules } from "./gapRules.ts";
import { inFlightRules } from "./inFlightRules.ts";
import { livenessRules } from "./livenessRules.ts";
import { localWorkRules } from "./localWorkRules.ts";
import { maxCostRules } from "./maxCostRules.ts";
import { noThreadRules } from "./noThreadRules.ts";
import { reuseRules } from "./reuseRules.ts";
import { scheduleRules } from "./scheduleRules.ts";
import { stateRules } from "./stateRules.ts";
import { stopRules } from "./stopRules.ts";
import { wantedRules } from "./wantedRules.ts";

/** Each rule of docs/ARCHITECTURE.md, broken in turn. */
export const mutants = [
  ...stateRules,
  ...endRules,
  ...wantedRules,
  ...livenessRules,
  ...inFlightRules,
  ...noThreadRules,
  ...localWorkRules,
  ...changedCodeRules,
  ...reuseRules,
  ...gapRules,
  ...stopRules,
  ...scheduleRules,
  ...backOffRules,
  ...maxCostRules,
];
