import { userInfo } from "node:os";
import type { StorageConnection } from "../../src/azure/connectStorage.ts";
import { actorOf } from "../../src/engine/model/labels.ts";

type Credential = Extract<StorageConnection, { readonly credential: unknown }>["credential"];

/** Who uses this command line: the sign-in by which it reaches storage, or else the user of this machine. */
export function withActor(connection: StorageConnection): {
  readonly connection: StorageConnection;
  /** Once storage has answered. */
  actor(): string;
} {
  if (!("credential" in connection)) return { connection, actor: () => actorOf("user", userName()) };
  const { credential } = connection;
  let token = "";
  const remembering: Credential = {
    async getToken(scopes, options) {
      const got = await credential.getToken(scopes, options);
      token = got?.token ?? token;
      return got;
    },
  };
  const name = () => nameIn(token);
  return {
    connection: { ...connection, credential: remembering },
    actor: () => (name() === undefined ? actorOf("user", userName()) : actorOf("azure", name() ?? "")),
  };
}

/** The name in a token of Entra: of a person, or the id of an application. Storage checks the token; this only reads it. */
export function nameIn(token: string): string | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Claims;
    const names = [claims.upn, claims.preferred_username, claims.unique_name, claims.appid, claims.oid];
    return names.find((one): one is string => typeof one === "string" && one !== "");
  } catch {
    return undefined;
  }
}

type Claims = Readonly<Record<"upn" | "preferred_username" | "unique_name" | "appid" | "oid", unknown>>;

/** A process in a container may run as a user without a name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
