import { currentLeader, isHeld, pollOf, whoLed } from "../election/record/leaderView.ts";
import type { LeaderRecord } from "../election/record/record.ts";
import { InputError, StorageError } from "../model/errors.ts";
import { electionBlob, leaderBlob } from "../model/names.ts";
import { type Client, defined, iso } from "./client.ts";
import { emptyIfMissing } from "./containersAndQueues.ts";

/** The leader, by the lease record. */
export type LeaderView =
  | {
      readonly kind: "leading" | "nobody";
      /** Term of the leader, or of the last one. */
      readonly term: number;
      readonly holder: string;
      readonly region?: string;
      readonly since: string;
      /** Seconds since the leader last wrote its record, by storage's clock. Absent if the record does not say. */
      readonly beatAgeS?: number;
      readonly lease: string;
      /** Least remaining time of the lease, as of the last beat. Only if the leader says so. */
      readonly leaseLeftS?: number;
      /** How the holder came to lead. Absent if the record does not say. */
      readonly cameBy?: LeaderRecord["cameBy"];
      /** What the leader says it is doing. */
      readonly notes: Readonly<Record<string, string>>;
      /** The last sixteen terms or fewer, oldest first. */
      readonly terms: readonly TermView[];
    }
  | { readonly kind: "never" }
  | { readonly kind: "unreadable"; readonly reason: string };

/** A term as the record remembers it. Records of older versions know neither its end nor how it began. */
interface TermView {
  readonly term: number;
  readonly holder: string;
  readonly since: string;
  /** When its leader last wrote the record, by storage's clock. Absent while it leads. */
  readonly until?: string;
  readonly cameBy?: LeaderRecord["cameBy"];
}

/**
 * One HEAD of the leader blob, or of that of another election. Throws `StorageError` if storage does not answer and
 * `InputError` for an invalid name.
 */
export async function leader(
  client: Client,
  signal?: AbortSignal,
  name: string = leaderBlob,
): Promise<LeaderView> {
  const lease = client.storage.lease(client.names.coordination, electionBlob(name));
  const seen = await emptyIfMissing(currentLeader(lease, defined({ signal })), { kind: "none" });
  if (seen.kind === "none") return { kind: "never" };
  if (seen.kind === "unreadable") return seen;
  const { record, atMs, leaseLeftMs } = seen;
  const led = whoLed(record, atMs - seen.ageMs);
  if (led === undefined) return { kind: "never" };
  const { holder, region, sinceMs, cameBy, untilMs } = led;
  return {
    kind: seen.leading ? "leading" : "nobody",
    term: record.term,
    holder,
    since: iso(sinceMs),
    lease: seen.leaseState,
    notes: record.notes,
    terms: termsOf(record, seen.leading ? undefined : untilMs),
    ...defined({
      region,
      beatAgeS: untilMs === undefined ? undefined : Math.max(0, atMs - untilMs) / 1000,
      leaseLeftS: leaseLeftMs === undefined ? undefined : leaseLeftMs / 1000,
      cameBy,
    }),
  };
}

/** `endedMs`: when the leader of the last term last wrote the record, once that term is over. */
const termsOf = ({ lastTerms, termid }: LeaderRecord, endedMs: number | undefined): readonly TermView[] =>
  lastTerms.map((one) => {
    const untilMs = one.termid === termid ? endedMs : one.untilMs;
    return {
      ...{ term: one.term, holder: one.holder, since: iso(one.sinceMs) },
      ...defined({ until: untilMs === undefined ? undefined : iso(untilMs), cameBy: one.cameBy }),
    };
  });

/** A beat changes the ETag each second, so a break between two beats is tried several times. */
const triesMax = 5;

/**
 * Breaks the lease of an election: its leader stops with its next beat, and any contender may lead. The break is
 * conditional on the ETag of the term that the caller saw, so it never deposes a successor.
 *
 * Throws `InputError` `nobody-leads` if the lease is not held, and `leader-changed` if another term has begun.
 */
export async function depose(client: Client, name: string = leaderBlob, seenTerm?: number) {
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
    // Without a term and a holder if the one that held the lease had written no record.
    return { kind: "deposed" as const, name, ...defined({ term: record?.term, holder: record?.holder }) };
  }
  throw new StorageError("busy", "", undefined, "the leader renewed its record between each try; try again");
}

const nobodyLeads = (name: string): InputError =>
  new InputError("conflict", "nobody-leads", `nobody holds the lease of the election "${name}"`);
