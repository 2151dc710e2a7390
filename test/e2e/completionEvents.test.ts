import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { postToChat } from "../../examples/completion-events/ended.ts";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { endedRunSchema } from "../../src/engine/model/endedRun.ts";
import { builtProgram } from "../support/builtProgram.ts";
import { patienceMs } from "../support/patience.ts";

const { leasefold, startUp, down } = builtProgram({ LEASEFOLD_ENDED_QUEUE: "ended-runs" });

test("each run that ends has a message in the queue, which the function of the examples posts to a chat", async () => {
  const { local } = await startUp("--instances", "2");
  const good = ["submit", "primes", "--to", "1e6", "--id", "good", "--wait", "--tag", "team=risk"];
  expect(await leasefold(...good)).toMatchObject({ code: 0 });
  const bad = ["--query", "select 1", "--source", "inputs/none", "--attempts", "1"];
  expect((await leasefold("submit", "sql", "--id", "bad", "--wait", ...bad)).code).not.toBe(0);
  const { queues } = connectStorage({ connectionString: local.connectionString });
  const events = await vi.waitFor(
    async () => {
      const messages = await queues.peek("ended-runs", 32);
      expect(messages).toHaveLength(2);
      return messages.map(({ text }) => endedRunSchema.parse(JSON.parse(text)));
    },
    { timeout: patienceMs },
  );
  expect(events.map(({ data }) => [data.run, data.outcome, data.tags]).sort()).toEqual([
    ["bad", "failed", undefined],
    ["good", "complete", { team: "risk" }],
  ]);

  let posted = "";
  const chat = createServer(async (request, response) => {
    for await (const piece of request) posted += piece;
    posted += "\n";
    response.end();
  }).listen(0, "127.0.0.1");
  await once(chat, "listening");
  vi.stubEnv("CHAT_URL", `http://127.0.0.1:${(chat.address() as AddressInfo).port}/`);
  for (const event of events) await postToChat(event);
  chat.close();
  const lines = posted.trim().split("\n").sort();
  expect(lines).toEqual([expect.stringMatching(/^{"text":"bad failed: ./), '{"text":"good complete"}']);
  await down();
}, 120_000);
