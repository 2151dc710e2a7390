import type { Client } from "../../../src/engine/client/client.ts";
import { StorageError } from "../../../src/engine/model/errors.ts";
import { containersOf, type Names, queuesOf } from "../../../src/engine/model/names.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Who asks: an app, or an operator who steers runs or only reads them (`operators` of `infra/main.bicep`). */
export const askers = ["app", "steer", "read"] as const;
export type Asker = (typeof askers)[number];

/** A version that no blob has, and a message that no queue holds: storage checks the rights and then changes nothing. */
const noEtag = "0x0";
const noMessage = "00000000-0000-0000-0000-000000000000";
const noReceipt = "AAAAAAAAAAAA";
const probeId = "_doctor";

/** A call that needs a right on a container or queue, and who needs that right. */
interface Right {
  readonly does: string;
  readonly role: string;
  readonly scope: string;
  readonly place: string;
  readonly neededBy: readonly Asker[];
  readonly ask: () => Promise<unknown>;
}

interface Answer {
  readonly right: Right;
  readonly answer: "ok" | "missing" | "denied";
}

/**
 * Checks that the containers and queues exist and that this identity has the rights of an app, or of an operator with that
 * access. Without `as` it tells by what the identity may write; the rights of others are not judged. Changes nothing: each
 * write has a condition that cannot hold, which the service checks only after the rights.
 */
export async function checkRoles(client: Client, as?: Asker): Promise<readonly Finding[]> {
  const findings = findingsOf("roles");
  const answers: Answer[] = [];
  for (const right of rightsOn(client)) answers.push({ right, answer: await answerTo(right.ask) });
  const who = as ?? whoAsks(answers);
  for (const { right, answer } of answers) {
    if (answer === "denied" && right.neededBy.includes(who)) findings.wrong(refused(right, who));
  }
  // What does not exist yet has no rights to ask for.
  const asked = answers.filter(({ answer }) => answer !== "missing");
  const judged = asked.filter(({ right }) => right.neededBy.includes(who)).length;
  const others = asked.length - judged;
  const told = `${as === undefined ? "judged" : "asked to be judged"} as ${kinds[who]}`;
  if (findings.found.length === 0) findings.ok(`${told}: this identity has the ${judged} rights it needs`);
  if (others > 0)
    findings.skipped(`${told}, so not by rights of others (${others}); --as app|steer|read judges another`);
  if (who === "steer")
    findings.skipped("creating a spec, and sending to the queues urgent and wake: only a submit would tell");
  tellMissing(client.names, answers, findings);
  return findings.found;
}

const appOnly: readonly Asker[] = ["app"];
const writers: readonly Asker[] = ["app", "steer"];

const kinds: Readonly<Record<Asker, string>> = {
  app: "an app",
  steer: "an operator who steers",
  read: "an operator who reads",
};

/** By the most that it may do. Where nothing is refused there is nothing to tell apart. */
function whoAsks(answers: readonly Answer[]): Asker {
  const granted = answers.flatMap(({ right, answer }) => (answer === "ok" ? [right.neededBy] : []));
  if (granted.includes(appOnly) || answers.every(({ answer }) => answer !== "denied")) return "app";
  return granted.some((who) => who.includes("steer") && !who.includes("read")) ? "steer" : "read";
}

function refused({ does, role, scope }: Right, who: Asker) {
  const cure =
    who === "app"
      ? `deploy infra/ again, or: az role assignment create --assignee PRINCIPAL --role "${role}" --scope ACCOUNT_ID/${scope}`
      : `deploy infra/ with this object id in "operators", access "${who}"`;
  return { what: `this identity may not ${does}`, why: `${kinds[who]} needs the role "${role}" there`, cure };
}

/** Every right that somebody needs, container by container and queue by queue. */
function rightsOn({ storage: { blobs, queues }, names }: Client): readonly Right[] {
  const onContainer = (place: string): Right[] => {
    const at = { place, scope: `blobServices/default/containers/${place}` };
    const read: Right = {
      ...at,
      role: "Storage Blob Data Reader",
      neededBy: askers,
      does: `read the container ${place}`,
      ask: () => blobs.list(place, "", { pageSize: 1 }),
    };
    const writes = (writtenBy(names)[place] ?? []).map(
      ([blob, neededBy]): Right => ({
        ...at,
        role: "Storage Blob Data Contributor",
        neededBy,
        does: `write the container ${place}`,
        ask: () => blobs.replace(place, blob, "", { ifMatch: noEtag }),
      }),
    );
    return [read, ...writes];
  };
  const onQueue = (place: string): Right[] => {
    const at = { place, scope: `queueServices/default/queues/${place}` };
    return [
      {
        ...at,
        role: "Storage Queue Data Reader",
        neededBy: askers,
        does: `read the queue ${place}`,
        ask: async () => (await queues.stats(place)).kind,
      },
      {
        ...at,
        role: "Storage Queue Data Contributor",
        neededBy: appOnly,
        does: `take and update messages of the queue ${place}`,
        // A lesser role may take messages, but not prolong their time, which the host and the leader do.
        ask: () => queues.update(place, noMessage, noReceipt, { visibleInS: 0 }),
      },
    ];
  };
  return [...containersOf(names).flatMap(onContainer), ...queuesOf(names).flatMap(onQueue)];
}

/** Who writes what: operators only what steering needs, and an app no inputs. */
const writtenBy = (names: Names): Readonly<Record<string, readonly Written[]>> => ({
  [names.coordination]: [[probeId, appOnly]],
  [names.active]: [[probeId, writers]],
  [names.runs]: [[probeId, appOnly]],
  [names.results]: [[probeId, appOnly]],
  [names.inputs]: [[probeId, ["steer"]]],
});
type Written = readonly [blob: string, neededBy: readonly Asker[]];

function tellMissing(
  names: Names,
  answers: readonly Answer[],
  { warning, skipped }: ReturnType<typeof findingsOf>,
): void {
  const missing = new Set(
    answers.flatMap(({ right, answer }) => (answer === "missing" ? [right.place] : [])),
  );
  const what = `${[...missing].join(", ")} ${missing.size === 1 ? "does" : "do"} not exist`;
  // The first tick creates the lease's container; the others come with the first call that needs them.
  if (missing.has(names.coordination)) {
    warning({
      what,
      why: "no app of this namespace has started yet, or the deployment made another namespace",
      cure: "start the app, which creates them if it may; else deploy infra/, or compare LEASEFOLD_NAMESPACE",
    });
  } else if (missing.size > 0)
    skipped(`${what} yet: the app creates each when it is first needed, or the deployment does`);
}

/** Only a missing role counts as `denied`; a firewall that keeps everybody out is another finding. */
async function answerTo(ask: () => Promise<unknown>): Promise<Answer["answer"]> {
  try {
    return (await ask()) === "missing" ? "missing" : "ok";
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind === "busy") throw error;
    if (error.storageCode === "AuthorizationPermissionMismatch") return "denied";
    if (error.kind === "denied") throw error;
    return /(Container|Queue)NotFound/.test(error.storageCode) ? "missing" : "ok";
  }
}
