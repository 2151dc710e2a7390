import { azuriteSpeed } from "./azuriteSpeed.ts";
import { lockData } from "./dataLock.ts";

/**
 * Code that the emulator's process loads before its own. Its standard input is a pipe that nobody writes to and that
 * closes when the process that started it has ended, for whatever reason. The pipe must not keep the emulator alive: after
 * SIGTERM that ends when nothing is left to do. Its last lines have no reader then, and must not end it before it has
 * stored its records.
 */
const endWithParent = `
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});
process.stdin.on("close", () => process.kill(process.pid, "SIGTERM")).on("error", () => {}).resume().unref();
`;

/**
 * The emulator listens for a message that asks it to end, which nobody sends it. The channel would keep it alive after
 * SIGTERM, until it is killed.
 */
const endWithoutChannel = `
process.channel?.unref();
`;

/** The emulator's files hold inputs and results, so nobody else on the machine may read them. */
const privateFiles = `
process.umask(0o077);
`;

/**
 * The emulator has no option to start without its table service, which nothing here needs. The service counts as running,
 * because its `close` then stops a timer that would keep the process alive.
 */
const noTables = (azuriteManifest: string): string => `
import { createRequire as requireFrom } from "node:module";
const { default: TableServer } = requireFrom(${JSON.stringify(azuriteManifest)})("./dist/src/table/TableServer");
TableServer.prototype.start = async function () { this.status = "Running"; };
`;

/**
 * Tells the process that started the emulator when messages that were sent or updated can be received, so that instances
 * need not wait for their next poll: of the first at once, and of those in the 20 ms after it together. Instances that
 * are busy with a long queue would otherwise hear of each of its messages.
 */
const tellOfMessages = `
import { Server } from "node:http";
const { emit } = Server.prototype;
const told = new Map();
const tell = (queue) => {
  if (told.has(queue)) return told.set(queue, true);
  told.set(queue, false);
  if (process.connected) process.send({ queue }, () => {});
  setTimeout(() => {
    const more = told.get(queue);
    told.delete(queue);
    if (more) tell(queue);
  }, 20).unref();
};
Server.prototype.emit = function (event, request, response) {
  const sent = event === "request" && /^(POST |PUT .*popreceipt=)/.test(request.method + " " + request.url);
  const queue = sent && /^\\/[^/]+\\/([^/]+)\\/messages\\b/.exec(request.url)?.[1];
  if (queue) {
    const hiddenMs = 1000 * Number(new URL(request.url, "http://x").searchParams.get("visibilitytimeout"));
    response.once("finish", () => {
      if (response.statusCode >= 300) return;
      if (hiddenMs > 0) setTimeout(tell, hiddenMs, queue).unref();
      else tell(queue);
    });
  }
  return emit.apply(this, arguments);
};
`;

/** All of it as a module for `node --import`. */
export function azuritePreload(
  azuriteManifest: string,
  { tables, location }: { readonly tables: boolean; readonly location: string | undefined },
): string {
  const lock = location === undefined ? "" : lockData(location);
  const speed = azuriteSpeed(azuriteManifest);
  const noTable = tables ? "" : noTables(azuriteManifest);
  const code = `${privateFiles}${lock}${speed}${noTable}${tellOfMessages}${endWithParent}${endWithoutChannel}`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
