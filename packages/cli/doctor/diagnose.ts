import type { Client } from "../../../src/engine/client/client.ts";
import { edgeOf, messageOf, StorageError } from "../../../src/engine/model/errors.ts";
import { readSettings } from "../../../src/engine/model/settings.ts";
import { checkHost } from "./checkHost.ts";
import { type Asker, checkRoles } from "./checkRoles.ts";
import { checkSettings } from "./checkSettings.ts";
import { checkLeader, checkQueues, checkService } from "./checkStorage.ts";
import type { Env, Finding } from "./finding.ts";

interface AppParts {
  /** The settings of the app, or those of this shell. */
  readonly env: Env;
  /** Whether these are all settings of an app, and not only those of this shell. */
  readonly ofApp: boolean;
  /** Text of `host.json`; undefined without one. */
  readonly hostJson: string | undefined;
  readonly storage: StorageToCheck;
  /** Whose rights to judge; told by what the identity may write where absent. */
  readonly as?: Asker | undefined;
}

/** The storage that the user names, or why none is contacted. */
export type StorageToCheck =
  | {
      /** What names it, for people. */
      readonly namedBy: string;
      /** Opens it; throws if it cannot be reached. */
      readonly connect: () => Promise<Client>;
    }
  | { readonly notContacted: string; readonly cure: string };

/** Checks an app: settings and host first, which need no storage, then storage. Never throws for what it finds. */
export async function diagnose({ env, ofApp, hostJson, storage, as }: AppParts): Promise<readonly Finding[]> {
  const { findings, settings } = checkSettings(env, ofApp);
  const host =
    hostJson === undefined
      ? [{ check: "host", state: "skipped", what: "no host.json in this folder" } as const]
      : checkHost(hostJson, env, settings ?? readSettings({}));
  return [...findings, ...host, ...(await storageFindings(storage, as))];
}

async function storageFindings(storage: StorageToCheck, as: Asker | undefined): Promise<Finding[]> {
  if ("notContacted" in storage) {
    return [{ check: "storage", state: "skipped", what: storage.notContacted, cure: storage.cure }];
  }
  const found: Finding[] = [];
  let client: Client;
  try {
    client = await storage.connect();
  } catch (error) {
    return [failureOf("storage", error)];
  }
  found.push({ check: "storage", state: "ok", what: `the one that ${storage.namedBy} names` });
  const roles = (of: Client) => checkRoles(of, as);
  const checks = { account: checkService, roles, queues: checkQueues, leader: checkLeader };
  for (const [name, check] of Object.entries(checks)) {
    found.push(...(await check(client).catch((error: unknown) => [failureOf(name, error)])));
  }
  return found;
}

/** The finding of a check that failed, with advice for known errors. */
function failureOf(check: string, error: unknown): Finding {
  // A bug is not a finding about the app.
  if (edgeOf(error).exitCode === 70) throw error;
  const code = error instanceof StorageError ? error.storageCode : "";
  const kind = error instanceof StorageError ? error.kind : "setting";
  const emulated = serverOf(error).startsWith("Azurite") ? adviceOfEmulator[code] : undefined;
  return {
    check,
    state: "wrong",
    what: messageOf(error),
    ...(emulated ?? adviceOfCode[code] ?? adviceOfKind[kind]),
  };
}

/** What answered, by the header of the answer that the SDK's error keeps. */
function serverOf(error: unknown): string {
  const { cause } = error as {
    cause?: { response?: { headers?: { get(name: string): string | undefined } } };
  };
  return cause?.response?.headers?.get("server") ?? "";
}

type Advice = Readonly<Record<string, { why: string; cure: string }>>;

const adviceOfEmulator: Advice = {
  InvalidHeaderValue: {
    why: "Azurite knows no API version as new as the SDK's",
    cure: "start Azurite with --skipApiVersionCheck",
  },
};

const adviceOfCode: Advice = {
  InvalidHeaderValue: {
    why: "this account has not got the API version that the SDK signs with a key; Azure gives new versions to one account after the other",
    cure: "use --account NAME and your own sign-in, or a shared access signature: with these an older version is asked for",
  },
  AuthorizationFailure: {
    why: "the account's firewall or network rules keep this machine out",
    cure: "ask from inside the network, or allow this address in the account's networking",
  },
  KeyBasedAuthenticationNotPermitted: {
    why: "the account accepts no keys, as it should be",
    cure: "use --account NAME and your own sign-in instead of a connection string",
  },
};

const adviceOfKind = {
  busy: {
    why: "nothing works without storage",
    cure: "is the address right, the emulator started, the network open?",
  },
  denied: {
    why: "nothing works without a role on the data",
    cure: 'az login; to read, az role assignment create --assignee PRINCIPAL --role "Storage Blob Data Reader" --scope ACCOUNT_ID; to steer runs, "operators" of infra/main.bicep',
  },
  refused: {
    why: "the account does not take this request",
    cure: "is it a general-purpose v2 account with blobs and queues?",
  },
  setting: {
    why: "there is no storage to check",
    cure: "give --connection or --account, or run it beside the app's settings",
  },
};
