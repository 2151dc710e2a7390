import type { Command } from "commander";
import { peekQueue, queues } from "../../client/queues.ts";
import type { Session } from "../cli.ts";
import { count, duration } from "../render/amounts.ts";
import { oneLine } from "../render/plainText.ts";
import { table } from "../render/table.ts";
import { wholeOption } from "../wholeOption.ts";

/** `leasefold queues` and `leasefold queues peek NAME`. */
export function addQueues(program: Command, session: Session): void {
  const group = program
    .command("queues")
    .description("every queue with its approximate count and the age of its oldest message")
    .action(async () => {
      const all = await queues(await session.client());
      if (session.json()) return await session.printJson({ queues: all });
      const columns = [
        { title: "QUEUE" },
        { title: "MESSAGES", right: true },
        { title: "OLDEST", right: true },
      ];
      const rows = all.map(({ queue, state, approximateCount, oldestS }) => [
        queue,
        state === "missing" ? "missing" : count(approximateCount ?? 0),
        oldestS === undefined ? "" : duration(oldestS),
      ]);
      await session.cli.out.write(table(session.cli.out, columns, rows));
    });
  group
    .command("peek")
    .description("look at the first messages of a queue without taking them")
    .argument("<name>", "real name of the queue, or what comes after the namespace")
    .option("-n <n>", "how many, at most 32", wholeOption, 1)
    .action(async (name: string, options: { n: number }) => {
      const messages = await peekQueue(await session.client(), name, options.n);
      if (session.json()) return await session.printJson({ messages });
      if (messages.length === 0) return await session.print("no message can be seen");
      const columns = [
        { title: "INSERTED" },
        { title: "TAKEN", right: true },
        { title: "TEXT", gives: true },
      ];
      const rows = messages.map((message) => [
        `${new Date(message.insertedMs).toISOString().slice(0, 19)}Z`,
        count(message.dequeueCount),
        oneLine(message.text),
      ]);
      await session.cli.out.write(table(session.cli.out, columns, rows));
    });
}
