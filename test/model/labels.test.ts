import { expect, it } from "vitest";
import { tagsText } from "../../src/engine/model/figures.ts";
import { actorOf, hasTags, parseTags, tagsSchema, withAct } from "../../src/engine/model/labels.ts";
import { decodeMarker, encodeMarker } from "../../src/engine/model/marker.ts";
import { marker } from "../support/runFixtures.ts";

it.each([
  [["team=risk", "date=2026-11-23"], { team: "risk", date: "2026-11-23" }],
  [["at=2026-11-23T02:00:00+01:00"], { at: "2026-11-23T02:00:00+01:00" }],
  [[], {}],
])("%j are tags", (texts, tags) => {
  expect(parseTags(texts)).toEqual(tags);
  expect(parseTags(tagsText(tags).split(", ").filter(Boolean))).toEqual(tags);
});

it.each([
  [["team"]],
  [["team="]],
  [["=risk"]],
  [["a=b=c"]],
  [["1a=b"]],
  [["team=risk", "team=other"]],
  [["team=a b"]],
  [["team=a,b"]],
  [["__proto__=x"]],
  [[`${"k".repeat(33)}=v`]],
  [[`k=${"v".repeat(65)}`]],
  [Array.from({ length: 9 }, (_, index) => `k${index}=v`)],
])("%j are no tags", (texts) => expect(parseTags(texts)).toBeUndefined());

it("values of tags are texts", () => {
  for (const tags of [{ n: 1 }, ["a"], null, "a=b"]) expect(tagsSchema.safeParse(tags).success).toBe(false);
});

it("a filter asks for all of its tags, and finds no inherited property", () => {
  const tags = { team: "risk", date: "1" };
  expect(hasTags(tags, {})).toBe(true);
  expect(hasTags(undefined, {})).toBe(true);
  expect(hasTags(tags, { team: "risk" })).toBe(true);
  expect(hasTags(tags, { team: "risk", date: "2" })).toBe(false);
  expect(hasTags(undefined, { team: "risk" })).toBe(false);
  expect(hasTags({}, { constructor: "x" })).toBe(false);
});

it.each(["user:Jürgen Müller", "entra:a@b.example", "user:100 % sure"])("a marker keeps %s", (who) => {
  const metadata = encodeMarker({ ...marker, who });
  for (const text of Object.values(metadata)) expect(text).toMatch(/^[\x20-\x7e]*$/);
  expect(decodeMarker(metadata, "r").who).toBe(who);
});

it("who wrote a marker that is not percent-encoded is shown as it is", () => {
  expect(decodeMarker({ ...encodeMarker(marker), who: "50%" }, "r").who).toBe("50%");
});

it("the name of an actor is one line of bounded length", () => {
  expect(actorOf("user", " a\n\u202eb\u0007c ")).toBe("user:a b c");
  expect(actorOf("entra", "x".repeat(1_000))).toHaveLength(160);
  expect(actorOf("user", `${"x".repeat(154)}😀`).isWellFormed()).toBe(true);
});

it("a history tells each command once, and keeps the latest", () => {
  const act = (command: number) => ({ command, action: "pause" as const, atMs: command });
  expect(withAct([act(1)], act(1))).toEqual([act(1)]);
  const all = Array.from({ length: 100 }, (_, index) => act(index)).reduce(
    withAct,
    [] as ReturnType<typeof act>[],
  );
  expect(all).toHaveLength(32);
  expect(all.at(-1)).toEqual(act(99));
});
