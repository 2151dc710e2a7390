import type { HostSettings } from "../model/hostSettings.ts";
import type { Settings } from "../model/settings.ts";
import { type ElectionSettings, electionSettings } from "./settings.ts";

/** A leader that has not beaten for so long may be deposed. Safe here, because every effect of a leader is fenced. */
const breakAfterMs = 4_000;
/** A leader that finishes no loop in so long is ended. */
const stallAfterMs = 60_000;
/** Kept free before the host kills the invocation. */
export const functionMarginMs = 12_000;

/**
 * The election's settings in the app. Renewal is bounded by the function's execution time: the budget is the
 * configured one, or what `functionTimeout` leaves, whichever is less.
 */
export function electionFrom(settings: Settings, host: HostSettings): ElectionSettings {
  const leaseDurationS = settings.LEASEFOLD_LEASE_S;
  const budgetMs = Math.min(settings.LEASEFOLD_BUDGET_S * 1_000, host.functionTimeoutMs - functionMarginMs);
  return electionSettings({
    leaseDurationS,
    budgetMs,
    functionTimeoutMs: host.functionTimeoutMs,
    functionMarginMs,
    stallAfterMs,
    breakAfterMs: settings.LEASEFOLD_EARLY_TAKEOVER ? breakAfterMs : 0,
    watching: settings.LEASEFOLD_WATCH,
  });
}
