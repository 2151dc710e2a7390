import { currentLeader, isHeld, pollOf, whoLed } from "../election/record/leaderView.ts";
import type { LeaderRecord } from "../election/record/record.ts";
import { InputError, StorageError } from "../model/errors.ts";
import { electionBlob, leaderBlob } from "../model/names.ts";
import type { Client } from "./client.ts";
import { whereAny } from "./places.ts";

/** Who coordinates, as the lease record tells anyone. */
export type LeaderView =
  | {
      readonly kind: "leading" | "nobody";
      /** Of the leader, or of the last one. */
      readonly term: number;
      readonly holder: string;
      readonly region?: string;
      readonly since: string;
      /** Since the leader last wrote its record, by storage's clock, in whole seconds. Absent where nobody noted it. */
      readonly beatAgeS?: number;
      readonly lease: string;
      /** The lease is held for so long yet, at least; as old as the beat. Only where the leader says so. */
      readonly leaseLeftS?: number;
      /** How the holder came to lead. Absent where nobody noted it. */
      readonly cameBy?: LeaderRecord["cameBy"];
      /** What the leader says it is doing. */
      readonly notes: Readonly<Record<string, string>>;
    }
  | { readonly kind: "never" }
  | { readonly kind: "unreadable"; readonly reason: string };

/**
 * One HEAD of the leader blob, or of that of another election by its name. Throws `StorageError` where storage does
 * not answer and `InputError` for what cannot be a name.
 */
export async function leader(
  client: Client,
  signal?: AbortSignal,
  name: string = leaderBlob,
): Promise<LeaderView> {
  const lease = client.storage.lease(client.names.coordination, electionBlob(name));
  const seen = await whereAny(currentLeader(lease, signal === undefined ? {} : { signal }), { kind: "none" });
  if (seen.kind === "none") return { kind: "never" };
  if (seen.kind === "unreadable") return seen;
  const { record } = seen;
  const led = whoLed(record, seen.atMs - seen.ageMs);
  if (led === undefined) return { kind: "never" };
  const { holder, region, sinceMs, cameBy, untilMs } = led;
  return {
    kind: seen.leading ? "leading" : "nobody",
    term: record.term,
    holder,
    ...(region === undefined ? {} : { region }),
    since: new Date(sinceMs).toISOString(),
    ...(untilMs === undefined ? {} : { beatAgeS: Math.max(0, seen.atMs - untilMs) / 1000 }),
    lease: seen.leaseState,
    ...(seen.leaseLeftMs === undefined ? {} : { leaseLeftS: seen.leaseLeftMs / 1000 }),
    ...(cameBy === undefined ? {} : { cameBy }),
    notes: record.notes,
  };
}

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
 * term that the caller saw is deposed, never a successor: the break stands on the ETag of a poll that showed it.
 *
 * Throws `InputError` `nobody-leads` where the lease is not held, and `leader-changed` where another term began.
 */
export async function depose(client: Client, name: string = leaderBlob, seenTerm?: number): Promise<Deposed> {
  const lease = client.storage.lease(client.names.coordination, electionBlob(name));
  for (let tried = 0; tried < triesMax; tried += 1) {
    const view = await lease.view();
    if (view.kind === "missing") throw nobodyLeads(name);
    const poll = pollOf(view);
    if (!isHeld(poll)) throw nobodyLeads(name);
    const record = poll.decoded.kind === "record" ? poll.decoded.record : undefined;
    if (seenTerm !== undefined && record?.term !== seenTerm) {
      const now = record === undefined ? "another" : `${record.holder} in term ${record.term}`;
      throw new InputError("conflict", "leader-changed", `term ${seenTerm} is over already; ${now} leads`);
    }
    try {
      await lease.breakNow({ ifMatch: poll.etag });
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
