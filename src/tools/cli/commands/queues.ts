import type { Command } from "commander";
import { apiOf } from "../apiHere.ts";
import type { Session } from "../cli.ts";
import { wholeOption } from "../options.ts";
import { clipped, right } from "../render/table.ts";
import { count, duration, oneLine } from "../render/text.ts";

export function addQueues(program: Command, session: Session): void {
  const group = program
    .command("queues")
    .description("list the queues, with the approximate count of messages and the age of the oldest")
    .action(async () => {
      const all = await (await apiOf(session)).queues();
      if (session.json()) return await session.printJson({ queues: all });
      const rows = all.map(({ queue, state, approximateCount, oldestS }) => [
        queue,
        state === "missing" ? "missing" : count(approximateCount ?? 0),
        oldestS === undefined ? "" : duration(oldestS),
      ]);
      await session.printTable(["QUEUE", right("MESSAGES"), right("OLDEST")], rows);
    });
  group
    .command("peek")
    .description("show the first messages of a queue without dequeuing them")
    .argument("<name>", "name of the queue, with or without the namespace")
    .option("-n <n>", "number of messages, at most 32", wholeOption, 1)
    .action(async (name: string, { n }: { n: number }) => {
      const { queue, messages } = await (await apiOf(session)).peek(name, { n });
      if (session.json()) return await session.printJson({ queue, messages });
      if (messages.length === 0) return await session.print("no visible message");
      const rows = messages.map(({ insertedAt, dequeueCount, text }) => [
        `${insertedAt.slice(0, 19)}Z`,
        count(dequeueCount),
        oneLine(text),
      ]);
      await session.printTable(["INSERTED", right("TAKEN"), clipped("TEXT")], rows);
    });
}
