import { ConfigError } from "../../model/errors.ts";
import { type ElectionSettings, electionSettings } from "../settings.ts";

/** The timings of an election that a lease without beats needs too; defaults and rules are the same. */
export type LeaseTimings = Pick<
  ElectionSettings,
  "leaseDurationS" | "marginMs" | "renewEveryMs" | "renewAgainMs" | "requestCapMs" | "lookAgainMs" | "tries"
>;

export interface LeasesSettings extends ElectionSettings {
  /** Renewals in flight at a time, and as many other calls beside them. Default 32. */
  readonly callsAtOnce: number;
  /** A read or write of contents is cut off after this: bodies take longer than lease calls. Default 10,000. */
  readonly contentCapMs: number;
}

/** Contents are for what the holders agree on, not for data: all of it is read and written each time. */
export const contentBytesMax = 4 * 1024 * 1024;

export function leasesSettings(
  chosen: Partial<LeaseTimings & Pick<LeasesSettings, "callsAtOnce" | "contentCapMs">>,
): LeasesSettings {
  const { callsAtOnce = 32, contentCapMs = 10_000, ...timings } = chosen;
  const settings = { ...electionSettings(timings), callsAtOnce, contentCapMs };
  if (!Number.isInteger(callsAtOnce) || callsAtOnce < 1) {
    throw new ConfigError("leases-settings", "Leases: callsAtOnce is a whole number above zero.");
  }
  if (!(contentCapMs > 0)) throw new ConfigError("leases-settings", "Leases: contentCapMs is above zero.");
  return settings;
}
