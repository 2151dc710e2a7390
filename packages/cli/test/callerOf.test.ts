import { describe, expect, it } from "vitest";
import { callerOf } from "../../../src/app/functions/callerOf.ts";
import { nameIn, withActor } from "../actor.ts";

const signedIn = { "x-ms-client-principal-name": "ada@example.com", "x-ms-client-principal-id": "1-2" };
const on = { WEBSITE_AUTH_ENABLED: "True" };

describe("who asks over HTTP", () => {
  it.each([
    ["the principal where the platform signs people in", on, signedIn, "entra:ada@example.com"],
    ["the id of a program", on, { "x-ms-client-principal-id": "1-2" }, "entra:1-2"],
    ["not a principal that a caller wrote itself", {}, signedIn, "key"],
    ["nor where authentication is off", { WEBSITE_AUTH_ENABLED: "False" }, signedIn, "key"],
    ["a key where nobody signed in", on, {}, "key"],
    ["whom a key says it asks for", {}, { "leasefold-user": "J%C3%BCrgen" }, "user:Jürgen"],
    ["never an Entra name that a key says", {}, { "leasefold-user": "entra:ada" }, "user:entra:ada"],
    ["text that is not encoded", {}, { "leasefold-user": "50%" }, "user:50%"],
    ["one line", {}, { "leasefold-user": "a%0Ab" }, "user:a b"],
    ["not what is empty", on, { "x-ms-client-principal-name": " ", "leasefold-user": "%20" }, "key"],
  ])("is %s", (_title, env, headers, caller) => {
    expect(callerOf(env)(new Headers(headers as Record<string, string>))).toBe(caller);
  });
});

describe("who uses the command line", () => {
  const tokenOf = (claims: unknown) => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;

  it("is the name in the token of the sign-in, once storage was asked", async () => {
    const credential = {
      getToken: async () => ({ token: tokenOf({ upn: "ada@example.com" }), expiresOnTimestamp: 0 }),
    };
    const uris = { blobServiceUri: "https://b", queueServiceUri: "https://q" };
    const { connection, actor } = withActor({ ...uris, credential });
    expect(actor()).toMatch(/^user:./);
    if (!("credential" in connection)) throw new Error("it has a credential");
    await connection.credential.getToken("scope");
    expect(actor()).toBe("azure:ada@example.com");
  });

  it("is the application where nobody has a name, and the user of this machine without a sign-in", () => {
    expect(nameIn(tokenOf({ appid: "a-b", oid: "o" }))).toBe("a-b");
    for (const token of ["", "x", "a.b.c", tokenOf({}), tokenOf(null), tokenOf({ upn: 7 })])
      expect(nameIn(token)).toBeUndefined();
    expect(withActor({ connectionString: "x" }).actor()).toMatch(/^user:./);
  });
});
