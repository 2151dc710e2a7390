import type { Command } from "commander";
import {
  clearPoison,
  type PeekedQueue,
  peekQueue,
  poisonQueueOf,
} from "../../../src/engine/client/queues.ts";
import { limits } from "../../../src/engine/model/limits.ts";
import type { Session } from "../cli.ts";
import { wholeOption } from "../options.ts";
import { clipped, right } from "../render/table.ts";
import { count, countOf, duration, oneLine } from "../render/text.ts";

export function addQueues(program: Command, session: Session): void {
  const group = program
    .command("queues")
    .description("list the queues, with the approximate count of messages and the age of the oldest")
    .action(async () => {
      const all = await (await session.api()).queues();
      if (session.json()) return await session.printJson({ queues: all });
      const rows = all.map(({ queue, state, approximateCount, oldestS }) => [
        queue,
        state === "there" ? count(approximateCount ?? 0) : state,
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
      const { queue, messages } = await (await session.api()).peek(name, { n });
      if (session.json()) return await session.printJson({ queue, messages });
      if (messages.length === 0) return await session.print("no visible message");
      const rows = messages.map(({ insertedAt, dequeueCount, text }) => [
        `${insertedAt.slice(0, 19)}Z`,
        count(dequeueCount),
        oneLine(text),
      ]);
      await session.printTable(["INSERTED", right("TAKEN"), clipped("TEXT")], rows);
    });
  group
    .command("clear")
    .description("delete the messages of a poison queue, after a look at the first of them")
    .argument("<name>", "name of a poison queue, with or without the namespace")
    .option("--yes", "do not ask")
    .action(async (name: string, { yes }: { yes?: boolean }) => {
      const client = await session.storage();
      const queue = poisonQueueOf(client, name);
      const { messages } = await peekQueue(client, queue, limits.peekMax);
      if (messages.length > 0 && yes !== true)
        await session.confirm("queues clear", lookAt(queue, messages), "Delete these, and any behind them?");
      const cleared = messages.length === 0 ? 0 : await clearPoison(client, queue);
      if (session.json()) return await session.printJson({ queue, cleared });
      await session.print(`${countOf(cleared, "message")} of ${queue} deleted`);
    });
}

/** What the first messages are of, each kind of work of a run on one line. */
function lookAt(queue: string, messages: PeekedQueue["messages"]): string {
  const of = messages.map(({ kind, decoded }) =>
    oneLine(`${kind ?? "unreadable"} ${decoded?.run ?? ""}`).trim(),
  );
  const first = messages[0]?.insertedAt.slice(0, 19);
  const lines = [...new Set(of)].map((one) => `  ${of.filter((other) => other === one).length} × ${one}`);
  return [`${queue}: the first of its messages, since ${first}Z`, ...lines].join("\n");
}
