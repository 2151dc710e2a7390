import { readFileSync } from "node:fs";
import { join } from "node:path";
import { assignmentsOf, type Resource } from "../../scripts/infra/json.ts";
import { roleIds } from "../../scripts/infra/roles.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { names } from "../client/clientWorld.ts";
import { conditionHolds } from "./roleCondition.ts";

/** Who asks: an app of the first region, or an operator with that access. */
export type Asker = "app" | "steer" | "read";

/** One role assignment on the data account. */
export interface Grant {
  readonly role: string;
  /** Id of the account, or of a container or queue in it. */
  readonly scope: string;
  readonly condition: string | undefined;
}

/** One call by the data action that it needs, such as `blobs/write`. `path` is empty for a list and for queues. */
export interface Operation {
  readonly action: string;
  readonly place: string;
  readonly path: string;
}

/**
 * Actions and data actions of the roles, without their common beginning
 * (learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage).
 */
const rights: Readonly<Record<string, readonly string[]>> = {
  "Storage Blob Data Contributor": [
    ...["containers/delete", "containers/read", "containers/write"],
    ...["blobs/add/action", "blobs/delete", "blobs/move/action", "blobs/read", "blobs/write"],
  ],
  "Storage Blob Data Reader": ["containers/read", "blobs/read"],
  "Storage Queue Data Contributor": [
    ...["queues/delete", "queues/read", "queues/write"],
    ...["messages/delete", "messages/process/action", "messages/read", "messages/write"],
  ],
  "Storage Queue Data Message Processor": ["messages/read", "messages/process/action"],
  "Storage Queue Data Message Sender": ["messages/add/action"],
  "Storage Queue Data Reader": ["queues/read", "messages/read"],
};

/**
 * What each call of the ports needs, any one of them (learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory,
 * "Permissions for calling data operations").
 */
const needs: Readonly<Record<string, readonly string[]>> = {
  ensureContainer: ["containers/write"],
  // A create may also be allowed by the right to add blobs, which replaces none.
  create: ["blobs/write", "blobs/add/action"],
  ...everyOne(["replace", "upload", "setMetadata"], ["blobs/write"]),
  ...everyOne(["read", "stream", "head", "list", "listFolders"], ["blobs/read"]),
  ...everyOne(["remove", "removeMany"], ["blobs/delete"]),
  ...everyOne(["view", "readContent"], ["blobs/read"]),
  ensure: ["containers/write", "blobs/write"],
  ...everyOne(["acquire", "renew", "release", "breakNow"], ["blobs/write"]),
  ...everyOne(["writeRecord", "writeContent"], ["blobs/write"]),
  ensureQueue: ["queues/write"],
  send: ["messages/add/action", "messages/write"],
  receive: ["messages/process/action"],
  update: ["messages/write"],
  removeMessage: ["messages/process/action", "messages/delete"],
  peek: ["messages/read"],
  stats: ["queues/read"],
};

function everyOne(methods: readonly string[], actions: readonly string[]) {
  return Object.fromEntries(methods.map((method) => [method, actions]));
}

/** Whose assignments are meant: those of the app of the first region, or of the operators in `infra/two-regions.bicepparam`. */
const holders: Readonly<Record<Asker, RegExp>> = { app: /-ne-id$/, steer: /^0+-.*1$/, read: /^0+-.*2$/ };

/** The role assignments on the data account that the templates make for somebody, in the namespace of the tests. */
export function grantsOf(who: Asker): readonly Grant[] {
  const { predictedResources } = JSON.parse(snapshot) as { predictedResources: readonly Resource[] };
  return assignmentsOf(predictedResources).flatMap(({ scope, roleId, principal, condition }) => {
    if (!holders[who].test(principal) || !/\/storageAccounts\/\w+data(\/|$)/.test(scope)) return [];
    const role = Object.keys(roleIds).find((name) => roleIds[name] === roleId) ?? "";
    return [{ role, scope: scope.replace(/\/leasefold-([a-z-]+)$/, "/test-$1"), condition }];
  });
}
const snapshot = readFileSync(join(import.meta.dirname, "../../infra/two-regions.snapshot.json"), "utf8");

const queuePlaces: ReadonlySet<string> = new Set([names.packs, names.urgent, names.wake]);
const isQueue = (place: string): boolean => queuePlaces.has(place.replace(/-poison$/, ""));

/** Whether one of the grants allows the call. */
export function allows(grants: readonly Grant[], { action, place, path }: Operation): boolean {
  const end = isQueue(place) ? `/queues/${place}` : `/containers/${place}`;
  return grants.some(
    ({ role, scope, condition }) =>
      rights[role]?.includes(action) === true &&
      (scope.endsWith(end) || !/\/(containers|queues)\//.test(scope)) &&
      (condition === undefined || conditionHolds(condition, action, path)),
  );
}

/**
 * The storage as somebody with these grants sees it: what they do not allow is refused as the service refuses it, with
 * 403 AuthorizationPermissionMismatch. `asked` gets every call with whether it was allowed.
 */
export function grantedStorage(
  storage: Storage,
  grants: readonly Grant[],
  asked: (operation: Operation, allowed: boolean) => void = () => {},
): Storage {
  const check = (method: string, place: string, path: string): void => {
    const actions = needs[method];
    if (actions === undefined) throw new Error(`no right is known for ${method}`);
    const operations = actions.map((action): Operation => ({ action, place, path }));
    const allowed = operations.find((one) => allows(grants, one));
    asked(allowed ?? (operations[0] as Operation), allowed !== undefined);
    if (allowed !== undefined) return;
    const says = "This request is not authorized to perform this operation using this permission.";
    throw new StorageError("denied", "AuthorizationPermissionMismatch", 403, says);
  };
  const guarded = <Port extends object>(
    port: Port,
    placeOf: (method: string, args: unknown[]) => string[][],
  ) =>
    new Proxy(port, {
      get(target, name) {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== "function") return method;
        return async (...args: unknown[]) => {
          for (const [alias = "", place = "", path = ""] of placeOf(String(name), args))
            check(alias, place, path);
          return await method.apply(target, args);
        };
      },
    });
  const ofBlobs = (method: string, [container, name]: unknown[]): string[][] => {
    const paths = Array.isArray(name) ? name : [/^list/.test(method) ? "" : name];
    return paths.map((path) => [method, String(container), String(path ?? "")]);
  };
  return {
    ...storage,
    blobs: guarded(storage.blobs, ofBlobs),
    queues: guarded(storage.queues, (method, [queue]) => [
      [method === "remove" ? "removeMessage" : method, String(queue)],
    ]),
    lease: (container, blob) =>
      guarded(storage.lease(container, blob), (method) => [[method, container, blob]]),
  };
}
