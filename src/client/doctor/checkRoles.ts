import { StorageError } from "../../model/errors.ts";
import { containersOf, queuesOf } from "../../model/names.ts";
import type { Client } from "../client.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** A version that no blob has, and a message that no queue holds: storage checks the rights and then changes nothing. */
const noEtag = "0x0";
const noMessage = "00000000-0000-0000-0000-000000000000";
const noReceipt = "AAAAAAAAAAAA";
const probeBlob = "_doctor";

/** A call that needs a right on a container or queue. */
interface Probe {
  readonly right: string;
  readonly role: string;
  readonly ask: (name: string) => Promise<unknown>;
}

/**
 * Checks that the containers and queues exist and that this identity may read and write them. Changes nothing: each
 * write has a condition that cannot hold, which the service checks only after the rights.
 */
export async function checkRoles({ storage, names }: Client): Promise<readonly Finding[]> {
  const { found, ok, skipped, wrong, warning } = findingsOf("roles");
  const { blobs, queues } = storage;
  const read: Probe = {
    right: "read",
    role: "Storage Blob Data Reader",
    ask: (name) => blobs.list(name, "", { pageSize: 1 }),
  };
  const write: Probe = {
    right: "write",
    role: "Storage Blob Data Contributor",
    ask: (name) => blobs.replace(name, probeBlob, "", { ifMatch: noEtag }),
  };
  const count: Probe = {
    right: "read",
    role: "Storage Queue Data Reader",
    ask: async (name) => (await queues.stats(name)).kind,
  };
  const dequeue: Probe = {
    right: "take messages of",
    role: "Storage Queue Data Message Processor",
    ask: (name) => queues.remove(name, noMessage, noReceipt),
  };
  const containers = containersOf(names).map((name) => {
    const scope = `blobServices/default/containers/${name}`;
    return { kind: "container", name, scope, probes: name === names.inputs ? [read] : [read, write] };
  });
  const queueTargets = queuesOf(names).map((name) => {
    const scope = `queueServices/default/queues/${name}`;
    return { kind: "queue", name, scope, probes: [count, dequeue] };
  });

  const missing = new Set<string>();
  for (const { kind, name, scope, probes } of [...containers, ...queueTargets]) {
    for (const { right, role, ask } of probes) {
      const answer = await answerTo(() => ask(name));
      if (answer === "missing") missing.add(name);
      if (answer !== "denied") continue;
      wrong({
        what: `this identity may not ${right} the ${kind} ${name}`,
        why: `an app needs the role "${role}" there; a person who reads or steers runs has it from "operators" of infra/ or does without`,
        cure: `az role assignment create --assignee PRINCIPAL --role "${role}" --scope ACCOUNT_ID/${scope}`,
      });
    }
  }
  const allowed = found.length === 0;
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
  if (allowed)
    ok(`this identity may use the ${containers.length} containers and ${queueTargets.length} queues`);
  return found;
}

async function answerTo(ask: () => Promise<unknown>): Promise<"ok" | "missing" | "denied"> {
  try {
    return (await ask()) === "missing" ? "missing" : "ok";
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind === "busy") throw error;
    if (error.kind === "denied") return "denied";
    return /(Container|Queue)NotFound/.test(error.storageCode) ? "missing" : "ok";
  }
}
