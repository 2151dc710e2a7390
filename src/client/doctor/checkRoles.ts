import { StorageError } from "../../model/errors.ts";
import { containersOf, queuesOf } from "../../model/names.ts";
import type { Client } from "../client.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** What the identity may do with one container or queue. */
type Right = "there" | "missing" | "denied";

/** A version that no blob has, and a message that no queue holds: the calls are judged by their rights and then do nothing. */
const noEtag = "0x0";
const noMessage = "00000000-0000-0000-0000-000000000000";
const noReceipt = "AAAAAAAAAAAA";
const probeBlob = "_doctor";

/**
 * Whether everything is there that the app needs, and whether this identity may read and write it. Nothing is
 * changed: each write carries a condition that cannot hold, which the service looks at only after the rights.
 */
export async function checkRoles(client: Client): Promise<readonly Finding[]> {
  const { found, ok, skipped, wrong, warning } = findingsOf("roles");
  const { blobs, queues } = client.storage;
  const { names } = client;
  const containers = containersOf(names);
  const queueNames = queuesOf(names);
  const probes: {
    place: string;
    kind: "container" | "queue";
    right: string;
    role: string;
    ask: () => Promise<unknown>;
  }[] = [
    ...containers.flatMap((place) => [
      {
        place,
        kind: "container" as const,
        right: "read",
        role: "Storage Blob Data Reader",
        ask: () => blobs.list(place, "", { pageSize: 1 }),
      },
      ...(place === names.inputs
        ? []
        : [
            {
              place,
              kind: "container" as const,
              right: "write",
              role: "Storage Blob Data Contributor",
              ask: () => blobs.replace(place, probeBlob, "", { ifMatch: noEtag }),
            },
          ]),
    ]),
    ...queueNames.flatMap((place) => [
      {
        place,
        kind: "queue" as const,
        right: "read",
        role: "Storage Queue Data Reader",
        ask: async () => present(await queues.stats(place)),
      },
      {
        place,
        kind: "queue" as const,
        right: "take messages of",
        role: "Storage Queue Data Message Processor",
        ask: () => queues.remove(place, noMessage, noReceipt),
      },
    ]),
  ];
  const missing = new Set<string>();
  let denied = 0;
  for (const { place, kind, right, role, ask } of probes) {
    const answer = await rightOf(ask);
    if (answer === "missing") missing.add(place);
    if (answer !== "denied") continue;
    denied += 1;
    wrong({
      what: `this identity may not ${right} the ${kind} ${place}`,
      why: `an app needs the role "${role}" there; a person who reads or steers runs has it from "operators" of infra/ or does without`,
      cure: `az role assignment create --assignee PRINCIPAL --role "${role}" --scope ${scopeOf(kind, place)}`,
    });
  }
  const notThere = `${[...missing].join(", ")} ${missing.size === 1 ? "is" : "are"} not there`;
  // The first tick makes the lease's container; the others come with the first call that needs them.
  if (missing.size > 0 && !missing.has(names.coordination)) {
    skipped(`${notThere} yet: the app makes each when it is first needed, or the deployment does`);
  } else if (missing.size > 0) {
    warning({
      what: notThere,
      why: "no app of this namespace has started yet, or the deployment made another namespace",
      cure: "start the app, which makes them where it may; else deploy infra/, or compare LEASEFOLD_NAMESPACE",
    });
  }
  if (denied === 0)
    ok(`this identity may use the ${containers.length} containers and ${queueNames.length} queues`);
  return found;
}

const scopeOf = (kind: "container" | "queue", place: string): string =>
  `ACCOUNT_ID/${kind === "container" ? "blobServices/default/containers" : "queueServices/default/queues"}/${place}`;

async function rightOf(ask: () => Promise<unknown>): Promise<Right> {
  try {
    return (await ask()) === "missing" ? "missing" : "there";
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind === "busy") throw error;
    if (error.kind === "denied") return "denied";
    return /(Container|Queue)NotFound/.test(error.storageCode) ? "missing" : "there";
  }
}

const present = (answer: { readonly kind: string }): "there" | "missing" =>
  answer.kind === "missing" ? "missing" : "there";
