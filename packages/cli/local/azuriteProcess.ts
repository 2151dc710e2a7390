import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import "./azuriteLess.ts";
import { quickenMessages, quickenRecords } from "./azuriteSpeed.ts";
import { holdData } from "./dataLock.ts";

/** What the emulator's process loads before the emulator itself, by `node --import`. */
const load = createRequire(process.argv[1] ?? "");
const flag = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};

// The files hold inputs and results, so nobody else on the machine may read them.
process.umask(0o077);

const location = flag("--location");
if (location !== undefined) holdData(location);

// There is no option to start without the table service. It counts as running, because its `close` then stops a timer that would
// keep the process alive.
if (flag("--tablePort") === undefined) {
  const { default: TableServer } = load("./table/TableServer") as { default: { prototype: TableServerLike } };
  TableServer.prototype.start = async function () {
    this.status = "Running";
  };
}
interface TableServerLike {
  status: string;
  start(): Promise<void>;
}

quickenRecords(load);
quickenMessages(load);

// Standard input is a pipe that nobody writes to and that closes when the process that started this one has ended, for whatever
// reason. After SIGTERM the emulator ends when nothing is left to do: neither the pipe nor the channel must keep it alive, and its
// last lines, which have no reader then, must not end it before it has stored its records.
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});
process.stdin
  .on("close", () => process.kill(process.pid, "SIGTERM"))
  .on("error", () => {})
  .resume()
  .unref();
process.channel?.unref();

/**
 * Tells the process that started the emulator when messages that were sent or updated can be received, so that instances need not
 * wait for their next poll: of the first at once, and of those in the 20 ms after it together. Instances that are busy with a long
 * queue would otherwise hear of each of its messages.
 */
const told = new Map<string, boolean>();
function tell(queue: string): void {
  if (told.has(queue)) return void told.set(queue, true);
  told.set(queue, false);
  if (process.connected) process.send?.({ queue }, undefined, undefined, () => {});
  setTimeout(() => {
    const more = told.get(queue);
    told.delete(queue);
    if (more) tell(queue);
  }, 20).unref();
}

subscribe("http.server.response.finish", (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  const { method, url = "" } = request;
  const sends = method === "POST" || (method === "PUT" && url.includes("popreceipt="));
  const queue = sends ? /^\/[^/]+\/([^/]+)\/messages\b/.exec(url)?.[1] : undefined;
  if (queue === undefined || response.statusCode >= 300) return;
  const hiddenMs = 1_000 * Number(new URL(url, "http://x").searchParams.get("visibilitytimeout"));
  if (hiddenMs > 0) setTimeout(tell, hiddenMs, queue).unref();
  else tell(queue);
});
