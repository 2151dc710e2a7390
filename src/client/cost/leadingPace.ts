import { hideEveryMsDefault } from "../../election/deadMansWake.ts";
import { electionSettings } from "../../election/settings.ts";
import type { Settings } from "../../model/settings.ts";
import type { LeadingPace } from "./leadingCost.ts";

/** How often a leader of an app with these settings does what. */
export function leadingPace(settings: Settings): LeadingPace {
  const budgetMs = settings.LEASEFOLD_BUDGET_S * 1_000;
  const { renewEveryMs, beatEveryMs } = electionSettings({ leaseDurationS: settings.LEASEFOLD_LEASE_S });
  return {
    loopMs: settings.LEASEFOLD_LOOP_MS,
    fastLoopMs: settings.LEASEFOLD_LOOP_FAST_MS,
    renewEveryMs,
    beatEveryMs,
    wakeEveryMs: hideEveryMsDefault,
    budgetMs,
  };
}
