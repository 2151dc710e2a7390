import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import { type Example, openApi } from "../../scripts/openApi.ts";
import { routes } from "../../src/app/api/routes.ts";
import { clientWorld, counted, leadsOn } from "../client/clientWorld.ts";
import { checkAnswer } from "../support/checkAnswer.ts";
import { heartbeatWork, putHeartbeat } from "../support/heartbeatProcess.ts";
import { apiRequest, call } from "./apiWorld.ts";

/** Answers of the routes whose answer is JSON, from a journey on in-memory storage that is the same each time. */
async function realExamples(): Promise<Record<string, Example>> {
  const { client, storage, putState, putResult } = await clientWorld();
  const examples: Record<string, Example> = {};
  const ask = async (name: string, given: Parameters<typeof apiRequest>[1] = {}) => {
    const { status, jsonBody } = await call(client, name, apiRequest("runs", given));
    expect([name, status]).toEqual([name, expect.toSatisfy((one: number) => one < 300)]);
    examples[name] = { body: given.body, answer: JSON.parse(JSON.stringify(jsonBody)) };
    return jsonBody as { readonly run: string; readonly uid: string };
  };
  const of = (id: string) => ({ params: { id, name: "wake" } });
  await leadsOn(storage);
  await putHeartbeat(client, "node-1", { works: [heartbeatWork(17)] });
  const body = { calculation: "sum", params: { to: 100 }, id: "sum-1" };
  const first = await ask("POST runs", { body });
  const terms = [{ term: 7, holder: "node-1", atMs: client.clock.wallMs() }];
  await putState(first, { ...counted, phase: "computing", terms, packsDone: 3, chunksDone: 6 });
  await ask("PATCH runs/{id}", { ...of("sum-1"), body: { cap: 50 } });
  await ask("GET runs/{id}", of("sum-1"));
  await ask("GET runs/{id}/map", of("sum-1"));
  await ask("GET runs/{id}/timeline", of("sum-1"));
  await ask("GET runs/{id}/durations", of("sum-1"));
  await ask("GET runs/{id}/failures", of("sum-1"));
  await ask("GET runs/{id}/logs", of("sum-1"));
  const done = (await call(client, "POST runs", apiRequest("runs", { body: { ...body, id: "sum-2" } })))
    .jsonBody;
  await putResult(done as typeof first, "5050");
  await ask("GET runs/{id}/manifest", of("sum-2"));
  await ask("DELETE runs/{id}", of("sum-2"));
  await ask("GET runs");
  await ask("POST plan", { body: { calculation: "sum", params: { to: 100 } } });
  for (const name of [
    "calculations",
    "leader",
    "workers",
    "queues",
    "queues/{name}",
    "uploads",
    "instance",
    "health",
  ])
    await ask(`GET ${name}`, of("sum-1"));
  return examples;
}

describe("the OpenAPI document", () => {
  it("is what the routes take and give, with answers of theirs (npx vitest run test/api/openApi -u writes it)", async () => {
    const document = openApi(await realExamples());
    await expect(`${JSON.stringify(document, undefined, 1)}\n`).toMatchFileSnapshot(
      "../../docs/openapi.json",
    );
  });

  it("is accepted by a linter", async () => {
    // As a text: comparing an object with the linter's type takes the compiler two seconds, as its --generateTrace shows.
    const off = { "operation-4xx-response": "off", "no-server-example.com": "off" };
    const config = await createConfig(JSON.stringify({ extends: ["recommended"], rules: off }));
    const found = await lintFromString({ source: JSON.stringify(openApi()), config });
    expect(found.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  it("names each operation once", () => {
    const ids = Object.values(openApi().paths ?? {}).flatMap((path) =>
      Object.values(path as Record<string, { operationId: string }>).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(routes.length);
  });
});

describe("an answer", () => {
  const leader = { kind: "never" };
  const commanded = {
    ...{ run: "r1", uid: "u1", kind: "cap", command: 1, changed: true, want: "run" },
    ...{ keep: false, generation: 1, cap: 5, woken: true },
  };
  const patched = (change: object) => () =>
    checkAnswer("PATCH runs/{id}", { status: 202, jsonBody: { ...commanded, ...change } });

  it("passes as its route tells of it", () => {
    expect(patched({})).not.toThrow();
    expect(() => checkAnswer("GET leader", { status: 200, jsonBody: leader })).not.toThrow();
  });

  it.each([
    ["a field that is missing", { cap: undefined }, "must have required property 'cap'"],
    ["a field of another type", { cap: "5" }, "/cap must be integer"],
    ["a field more", { pace: 5 }, "must NOT have additional properties"],
    ["a word that is none", { want: "faster" }, "/want must be equal to one of the allowed values"],
  ])("with %s is found", (_what, change, told) => {
    expect(patched(change)).toThrow(told);
  });

  it("with another status, or a problem of which its route does not tell, is found", () => {
    expect(() => checkAnswer("GET leader", { status: 201, jsonBody: leader })).toThrow("the document has no");
    const problem = { type: "urn:leasefold:error:x", title: "Conflict", status: 409, detail: "x", code: "x" };
    const answered = () => checkAnswer("PATCH runs/{id}", { status: 409, jsonBody: problem });
    expect(answered).toThrow("does not tell of the problem 409 x");
  });
});
