import type { Client } from "../../../src/engine/client/client.ts";
import { blobPage } from "../../../src/engine/client/containersAndQueues.ts";
import { leader } from "../../../src/engine/client/leader.ts";
import { queues } from "../../../src/engine/client/queues.ts";
import { countOf } from "../../../src/engine/model/figures.ts";
import { leaderBlob, queuesOf, scheduleBlobs } from "../../../src/engine/model/names.ts";
import type { ServiceFacts } from "../../../src/engine/storage/queuePort.ts";
import { type Finding, findingsOf } from "./finding.ts";

const dayMs = 86_400_000;
/** Shown times mix both clocks; a token is refused beyond some minutes. */
const offsetWarnMs = 5_000;
const offsetWrongMs = 300_000;
const leaderlessMaxS = 180;
/** As infra/modules/dataStorage.bicep sets it. */
const restorableDays = 7;

/** Checks the service itself, its clock, and whether it keeps what Leasefold deletes and rewrites. */
export async function checkService({ storage, names, clock }: Client): Promise<readonly Finding[]> {
  const { found, ok, skipped, warning } = findingsOf("account");
  const { about } = storage;
  if (about === undefined) return found;
  const facts = await about.facts();
  const versioned = await about.versioned(names.coordination, leaderBlob);
  if (facts.server !== "") ok(`the blob service is ${facts.server}`);
  if (facts.softDeleteDays === undefined)
    skipped("soft delete and clock: this identity may not read the account's properties");
  else if (facts.softDeleteDays > restorableDays) {
    warning({
      what: `blob soft delete is on (${facts.softDeleteDays} days)`,
      why: `each deleted partial is kept, and billed, for this time; the templates keep it for ${restorableDays} days`,
      cure: `az storage account blob-service-properties update --account-name ACCOUNT --enable-delete-retention true --delete-retention-days ${restorableDays}`,
    });
  } else if (facts.softDeleteDays > 0) {
    ok(`what was deleted or overwritten can be restored for ${facts.softDeleteDays} days`);
  } else ok("blob soft delete is off: what was deleted is gone");
  if (versioned === undefined) skipped("blob versioning: nothing has been written yet");
  else if (versioned) {
    warning({
      what: "blob versioning is on",
      why: "a leader writes a heartbeat each second, and every one on the lease's blob becomes a version that is kept",
      cure: "az storage account blob-service-properties update --account-name ACCOUNT --enable-versioning false",
    });
  } else ok("blob versioning is off");
  return [...found, ...checkClock(facts, clock.wallMs())];
}

function checkClock({ dateMs }: ServiceFacts, hereMs: number): readonly Finding[] {
  const { found, ok, warning, wrong } = findingsOf("clock");
  if (dateMs === undefined) return found;
  const offMs = hereMs - dateMs;
  const offS = Math.round(offMs / 1_000);
  const problem = {
    what: `the clock here is ${Math.abs(offS)} s ${offS > 0 ? "ahead of" : "behind"} the storage's`,
    why: "leases do not depend on it, but tokens are refused by a clock that is minutes off, and shown times are wrong",
    cure: "set the clock, or let NTP set it",
  };
  if (Math.abs(offMs) >= offsetWrongMs) wrong(problem);
  else if (Math.abs(offMs) >= offsetWarnMs) warning(problem);
  else ok("the clocks here and there agree");
  return found;
}

/** Checks the queues' content: poison, old messages, and messages that are not JSON. */
export async function checkQueues(client: Client): Promise<readonly Finding[]> {
  const { found, ok, wrong, warning } = findingsOf("queues");
  const ofWork = queuesOf(client.names);
  for (const { queue, approximateCount = 0, oldestS = 0 } of await queues(client)) {
    // Who takes completion events, and when, is not known here.
    if (approximateCount === 0 || !ofWork.includes(queue)) continue;
    if (queue.endsWith("-poison")) {
      warning({
        what: `${queue} holds ${countOf(approximateCount, "message")}`,
        why: "they failed five times; their packs were recorded as failed, so nothing waits for them",
        cure: `leasefold queues peek ${queue}; then clear it: az storage message clear --queue-name ${queue}`,
      });
      continue;
    }
    if (oldestS * 1_000 > dayMs) {
      warning({
        what: `the oldest message of ${queue} is ${Math.round(oldestS / 3_600)} hours old`,
        why: "no worker takes it: the app is stopped, or its queue trigger cannot read the queue",
        cure: "read the app's log, and the roles below",
      });
    }
    const [first] = await client.storage.queues.peek(queue, 1);
    if (first !== undefined && !first.text.trimStart().startsWith("{")) {
      wrong({
        what: `${queue} holds a message that is not JSON: ${first.text.slice(0, 40)}`,
        why: "somebody else writes to this queue, or encodes messages in base64; workers record and drop such messages",
        cure: "use a namespace of its own for each app (LEASEFOLD_NAMESPACE)",
      });
    }
  }
  if (found.length === 0) ok("no poison message, and none is old");
  return found;
}

/** Checks who leads. A long time without a leader is wrong only while runs are open. */
export async function checkLeader(client: Client): Promise<readonly Finding[]> {
  const { found, ok, skipped, wrong } = findingsOf("leader");
  const seen = await leader(client);
  if (seen.kind === "unreadable") {
    wrong({
      what: `the leader's record cannot be read: ${seen.reason}`,
      why: "nobody can lead",
      cure: "delete the blob leader in the coordination container, to which nothing but Leasefold may write; terms begin again",
    });
    return found;
  }
  const heartbeatAgeS = seen.kind === "never" ? Number.POSITIVE_INFINITY : seen.heartbeatAgeS;
  if (seen.kind === "never") skipped("nobody has led yet: start the app, or wait for its next tick");
  else if (seen.kind === "leading")
    ok(`${seen.holder} leads in term ${seen.term}, last heartbeat ${heartbeatAgeS} s ago`);
  else
    ok(`nobody leads now; ${seen.holder} led in term ${seen.term}, until ${Math.round(heartbeatAgeS)} s ago`);
  const { blobs } = await blobPage(client, client.names.active, "");
  const open = blobs.filter(({ name }) => !name.startsWith(scheduleBlobs)).length;
  const flight =
    open === 1
      ? "1 run is in flight: an upgrade that changes its documents"
      : `${open} runs are in flight: an upgrade that changes their documents`;
  ok(open === 0 ? "no run is in flight" : `${flight} has to wait (docs/OPERATIONS.md)`);
  if (open > 0 && seen.kind !== "leading" && heartbeatAgeS > leaderlessMaxS) {
    wrong({
      what: `${open} ${open === 1 ? "run is" : "runs are"} open and nobody has ${seen.kind === "never" ? "ever led" : "led for three minutes"}`,
      why: "no instance contends for the lease",
      cure: "is the app running, and is LEASEFOLD_SCHEDULE set? Read the app's log",
    });
  }
  return found;
}
