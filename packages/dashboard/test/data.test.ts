import { expect, test } from "vitest";
import { ApiError } from "../../client/request.ts";
import { asksWith, keyStore, opensWithoutKey } from "../data/key.ts";

function tabStorage() {
  const held = new Map<string, string>();
  return {
    held,
    getItem: (name: string) => held.get(name) ?? null,
    setItem: (name: string, value: string) => void held.set(name, value),
    removeItem: (name: string) => void held.delete(name),
  };
}

test("a key is written to the tab only on request, and leaves it when it is forgotten or refused", () => {
  const tab = tabStorage();
  const key = keyStore(tab);
  key.set("one", false);
  expect([key.key, key.kept, tab.held.size]).toEqual(["one", false, 0]);
  key.set("one", true);
  expect([...tab.held.values()]).toEqual(["one"]);
  expect(keyStore(tab).key).toBe("one");
  key.refuse();
  expect([key.key, key.refused, tab.held.size]).toEqual([undefined, true, 0]);
  key.set("two", true);
  key.forget();
  expect([key.key, key.refused, tab.held.size]).toEqual([undefined, false, 0]);
});

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
}

function connected(answers: readonly (() => Response | Promise<Response>)[]) {
  const sent: Sent[] = [];
  const key = keyStore(tabStorage());
  key.set("secret", false);
  const rest = [...answers];
  const send = (async (url: URL, init: RequestInit) => {
    sent.push({ url: url.href, init });
    return await (rest.shift() ?? answers.at(-1))?.();
  }) as unknown as typeof fetch;
  return { sent, key, api: asksWith(key, "http://app/api/ui", send, () => 1_000) };
}

test("the key is sent as a header to the API beside the page, and never in an address", async () => {
  const { api, sent } = connected([() => Response.json({ ok: true })]);
  await api.ask("runs?limit=5", { method: "POST", body: { a: 1 } });
  expect(sent[0]?.url).toBe("http://app/api/runs?limit=5");
  expect(sent[0]?.init).toMatchObject({
    headers: { "x-functions-key": "secret", "content-type": "application/json" },
    body: '{"a":1}',
    credentials: "omit",
  });
  expect(sent[0]?.url).not.toContain("secret");
});

test("a problem document becomes an error with its words, code and field", async () => {
  const body = { status: 400, code: "bad-parameter", detail: "to: too large", field: "to" };
  const { api } = connected([() => Response.json(body, { status: 400, headers: { "retry-after": "7" } })]);
  await expect(api.ask("runs")).rejects.toMatchObject({
    status: 400,
    code: "bad-parameter",
    field: "to",
    message: "to: too large",
    retryAfterS: 7,
  });
});

test("an answer that is no JSON, and no answer at all, are errors in words", async () => {
  const { api } = connected([
    () => new Response("<h1>Bad gateway</h1>", { status: 502 }),
    () => Promise.reject(new TypeError("Failed to fetch")),
  ]);
  await expect(api.ask("runs")).rejects.toThrow("the app answered with status 502");
  await expect(api.ask("runs")).rejects.toMatchObject({ status: 0, code: "no-answer" });
});

test("an app that asks for no key is opened without one, until it asks", async () => {
  const url = "http://app/api/ui";
  const opens = (answer: () => Promise<Response>) => opensWithoutKey(url, answer);
  expect(await opens(async () => new Response("{}"))).toBe(true);
  expect(await opens(async () => new Response("", { status: 401 }))).toBe(false);
  expect(await opens(() => Promise.reject(new TypeError("no network")))).toBe(false);
  const { sent, api, key } = connected([() => new Response("{}"), () => new Response("", { status: 401 })]);
  key.set("", false);
  await api.ask("runs");
  expect(JSON.stringify(sent[0])).not.toContain("x-functions-key");
  await expect(api.ask("runs")).rejects.toThrow();
  expect([key.key, key.refused]).toEqual([undefined, false]);
});

test("401 takes the refused key away, but not the one that was entered meanwhile", async () => {
  const { api, key } = connected([() => new Response("", { status: 401 })]);
  await expect(api.ask("runs")).rejects.toBeInstanceOf(ApiError);
  expect([key.key, key.refused]).toEqual([undefined, true]);
  key.set("old", false);
  const late = api.ask("runs");
  key.set("new", false);
  await expect(late).rejects.toThrow("the key was refused");
  expect(key.key).toBe("new");
});

test("the service's clock is known from the date of its answers", async () => {
  const date = new Date(61_000).toUTCString();
  const { api } = connected([() => Response.json({}, { headers: { date } })]);
  await api.ask("runs");
  expect(api.clockOffsetMs()).toBe(60_000);
});
