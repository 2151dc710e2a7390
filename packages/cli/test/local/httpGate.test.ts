import { describe, expect, it } from "vitest";
import { refusalOf, refusalOfKey } from "../../../../src/host/httpGate.ts";

const host = "127.0.0.1:7071";
const hint = "it is on a note";

describe("a request to an embedded instance", () => {
  it.each([
    ["curl", { host }],
    ["a program on localhost", { host: "localhost:7071" }],
    ["somebody who forwards another port to it", { host: "LOCALHOST:8080" }],
    ["an address typed into a browser", { host, "sec-fetch-site": "none" }],
    ["its own page", { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" }],
    ["IPv6", { host: "[::1]:7071" }],
    [
      "a link that a person follows from another page",
      { host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
    ],
  ])("of %s passes", (_who, headers) => {
    expect(refusalOf("/api/runs", headers)).toBeUndefined();
  });

  it.each([
    ["a name that an attacker made resolve to 127.0.0.1", { host: "evil.example" }, 421],
    ["a name that begins like this machine's", { host: "127.0.0.1.evil.example:7071" }, 421],
    ["a name that ends like this machine's", { host: "evil-localhost" }, 421],
    ["user information before the host", { host: "127.0.0.1:7071@evil.example" }, 421],
    ["no host at all", {}, 421],
    ["a port that there is not", { host: "127.0.0.1:65536" }, 421],
    ["a page of another origin", { host, origin: "https://evil.example" }, 403],
    ["a page that hides its origin", { host, origin: "null" }, 403],
    ["a page on another port of this machine", { host, origin: "http://127.0.0.1:3000" }, 403],
    ["a page under https of the same name", { host, origin: `https://${host}` }, 403],
    ["a form or picture of another site", { host, "sec-fetch-site": "cross-site" }, 403],
    [
      "a frame in a page of another site",
      { host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
      403,
    ],
    [
      "a form that a page of another site sends",
      {
        ...{ host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
        ...{ "sec-fetch-dest": "document", origin: "https://evil.example" },
      },
      403,
    ],
    ["a form on another port of this machine", { host, "sec-fetch-site": "same-site" }, 403],
  ])("under %s is refused", (_what, headers, status) => {
    expect(refusalOf("/api/runs", headers)).toMatchObject({ status });
  });

  it.each([undefined, "", "http://evil.example/api/runs", "*"])("for %s is refused", (path) => {
    expect(refusalOf(path, { host })).toMatchObject({ status: 400 });
  });

  it("needs the exact key, once", () => {
    expect(refusalOfKey({ "x-functions-key": "k3y" }, "k3y", hint)).toBeUndefined();
    for (const given of [undefined, "", "k3", "k3yy", "K3Y", "k3y, k3y", ["k3y", "k3y"]]) {
      expect(refusalOfKey({ "x-functions-key": given }, "k3y", hint)).toMatchObject({ status: 401 });
    }
  });

  it("that is refused gets the remedy and never the key", () => {
    const { detail } = refusalOfKey({}, "k3y", hint) ?? {};
    expect(detail).toContain(hint);
    expect(detail).not.toContain("k3y");
  });
});
