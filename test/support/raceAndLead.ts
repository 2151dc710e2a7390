import type { Leadership } from "../../src/election/hold/leadership.ts";
import { race } from "../../src/election/race.ts";
import type { RaceOutcome, RacePorts, RaceRequest } from "../../src/election/raceContext.ts";
import type { ElectionSettings } from "../../src/election/settings.ts";

export interface LeadRequest extends RaceRequest {
  lead(leadership: Leadership): Promise<void>;
}

/** Races, leads the term if one was claimed, and hands over. */
export async function raceAndLead(
  ports: RacePorts,
  settings: ElectionSettings,
  { lead, ...request }: LeadRequest,
): Promise<RaceOutcome> {
  const raced = await race(ports, settings, request);
  return raced.kind === "claimed" ? (await raced.lead(lead)).outcome : raced;
}
