import { isHeld, sightOf } from "../election/leaderView.ts";
import { InputError, StorageError } from "../model/errors.ts";
import { electionBlob, leaderBlob } from "../model/names.ts";
import type { Client } from "./client.ts";

/** A beat moves the ETag each second; so often the break is tried between two of them. */
const triesMax = 5;

export interface Deposed {
  readonly kind: "deposed";
  readonly name: string;
  /** Of the record; absent where whoever held the lease had written none. */
  readonly term?: number;
  readonly holder?: string;
}

/**
 * Breaks the lease of an election, so that its leader stops with its next beat and any contender may lead. Only the
 * term that the caller saw is deposed, never a successor: the break stands on the ETag of a look that showed it.
 *
 * Throws `InputError` `nobody-leads` where the lease is not held, and `leader-changed` where another term began.
 */
export async function depose(client: Client, name: string = leaderBlob, seenTerm?: number): Promise<Deposed> {
  const lease = client.storage.lease(client.names.coordination, electionBlob(name));
  for (let tried = 0; tried < triesMax; tried += 1) {
    const view = await lease.view();
    if (view.kind === "missing") throw nobodyLeads(name);
    const sight = sightOf(view);
    if (!isHeld(sight)) throw nobodyLeads(name);
    const record = sight.decoded.kind === "record" ? sight.decoded.record : undefined;
    if (seenTerm !== undefined && record?.term !== seenTerm) {
      const now = record === undefined ? "another" : `${record.holder} in term ${record.term}`;
      throw new InputError("conflict", "leader-changed", `term ${seenTerm} is over already; ${now} leads`);
    }
    try {
      await lease.breakNow({ ifMatch: sight.etag });
    } catch (error) {
      const code = error instanceof StorageError ? error.storageCode : "";
      if (code === "ConditionNotMet") continue;
      if (code === "LeaseNotPresentWithLeaseOperation") throw nobodyLeads(name);
      throw error;
    }
    const who = record === undefined ? {} : { term: record.term, holder: record.holder };
    return { kind: "deposed", name, ...who };
  }
  throw new StorageError("busy", "", undefined, "the leader beat in between each time; try again");
}

const nobodyLeads = (name: string): InputError =>
  new InputError("conflict", "nobody-leads", `nobody holds the lease of the election "${name}"`);
