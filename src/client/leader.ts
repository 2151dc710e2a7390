import { currentLeader } from "../election/leaderView.ts";
import type { LeaderRecord } from "../election/record.ts";
import { whoLed } from "../election/whoLed.ts";
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
