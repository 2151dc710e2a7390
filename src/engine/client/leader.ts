import * as z from "zod";
import { currentLeader, isHeld, pollOf } from "../../election/record/leaderView.ts";
import { cameBySchema, type LeaderRecord } from "../../election/record/record.ts";
import { InputError, StorageError } from "../model/errors.ts";
import { electionBlob, leaderBlob } from "../model/names.ts";
import { type Client, defined, iso } from "./client.ts";
import { emptyIfMissing } from "./containersAndQueues.ts";
import { list, text, time } from "./viewSchemas.ts";

const pastTerm = z.object({
  term: z.int(),
  holder: text,
  since: time,
  cameBy: cameBySchema,
  until: time.exactOptional(),
});

export const leaderSchema = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("never") }),
    z.object({ kind: z.literal("unreadable"), reason: text }),
    z.object({
      kind: z.enum(["leading", "nobody"]),
      term: z.int().describe("Of the leader, or of the last one."),
      holder: text,
      since: time,
      lease: z.enum(["available", "leased", "expired", "breaking", "broken"]),
      heartbeatAgeS: z
        .number()
        .describe("Seconds since the leader last wrote its record, by storage's clock."),
      cameBy: cameBySchema.describe("How the holder came to lead."),
      notes: z.record(text, text).describe("What the leader says it is doing."),
      terms: list(pastTerm).describe("The last sixteen terms or fewer, oldest first."),
      region: text.exactOptional(),
      leaseLeftS: z
        .number()
        .describe("Least remaining time of the lease, as of the last heartbeat. Only if the leader says so.")
        .exactOptional(),
    }),
  ])
  .meta({ id: "Leader" });
export type LeaderView = z.infer<typeof leaderSchema>;

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
  const { record, atMs, ageMs, leaseLeftMs } = seen;
  const { term, holder, region, sinceMs, cameBy } = record;
  return {
    kind: seen.leading ? "leading" : "nobody",
    term,
    holder,
    since: iso(sinceMs),
    lease: seen.leaseState,
    heartbeatAgeS: ageMs / 1_000,
    cameBy,
    notes: record.notes,
    terms: termsOf(record, seen.leading ? undefined : atMs - ageMs),
    ...defined({
      region,
      leaseLeftS: leaseLeftMs === undefined ? undefined : leaseLeftMs / 1000,
    }),
  };
}

/** A setting as the app of the lease record has told it; undefined if none can be read. One HEAD. */
export async function toldSetting(client: Client, setting: string): Promise<string | undefined> {
  const lease = client.storage.lease(client.names.coordination, electionBlob(leaderBlob));
  const seen = await currentLeader(lease).catch((error: unknown) => {
    if (error instanceof StorageError) return undefined;
    throw error;
  });
  return seen?.kind === "known" ? seen.record.about?.[setting] : undefined;
}

/** The time limit of an attempt. */
export async function toldPackLimitMs(client: Client): Promise<number | undefined> {
  const seconds = Number(await toldSetting(client, "LEASEFOLD_PACK_LIMIT_S"));
  return seconds > 0 ? seconds * 1_000 : undefined;
}

/**
 * The terms as the record remembers them. `until` is when a leader last wrote the record, by storage's clock: `endedMs` for
 * the last term, once it is over.
 */
const termsOf = ({ lastTerms, termid }: LeaderRecord, endedMs: number | undefined) =>
  lastTerms.map((one) => {
    const untilMs = one.termid === termid ? endedMs : one.untilMs;
    return {
      term: one.term,
      holder: one.holder,
      since: iso(one.sinceMs),
      cameBy: one.cameBy,
      ...defined({ until: untilMs === undefined ? undefined : iso(untilMs) }),
    };
  });

/** A heartbeat changes the ETag each second, so a break between two heartbeats is tried several times. */
const triesMax = 5;

/**
 * Breaks the lease of an election: its leader stops with its next heartbeat, and any contender may lead. The break is
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
