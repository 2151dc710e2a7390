/**
 * Code that the emulator's process loads before its own. Its standard input is a pipe that nobody writes to and that
 * closes when the process that started it has ended, for whatever reason. The pipe must not keep the emulator alive: after
 * SIGTERM that ends when nothing is left to do.
 */
const endWithParent = `
process.stdin.on("close", () => process.kill(process.pid, "SIGTERM")).on("error", () => {}).resume().unref();
`;

/** The emulator's files hold inputs and results, so nobody else on the machine may read them. */
const privateFiles = `
process.umask(0o077);
`;

/**
 * The emulator keeps its records in LokiJS, whose batch functions sort every index anew for a single record, and which
 * scans all records if the first condition has no index: with 10,000 blobs a delete took 92 ms and now takes 1.3. The
 * three functions only choose the method for one record, or the order of conditions; where LokiJS has them no more,
 * nothing is changed.
 */
const fasterIndex = (azuriteManifest: string): string => `
import { createRequire } from "node:module";
try {
  const Loki = createRequire(${JSON.stringify(azuriteManifest)})("lokijs");
  const records = Loki.Collection.prototype;
  const { removeBatchByPositions, update } = records;
  if (removeBatchByPositions) records.removeBatchByPositions = function (places) {
    if (places.length === 1) this.remove(this.data[places[0]]);
    else if (places.length > 1) removeBatchByPositions.call(this, places);
  };
  if (update) records.update = function (found) {
    const one = Array.isArray(found) && found.length === 1;
    if (!Array.isArray(found) || found.length > 0) return update.call(this, one ? found[0] : found);
  };
  const results = Loki.Resultset.prototype;
  const { findAnd } = results;
  const telling = ["messageId", "name", "blobName"];
  if (findAnd) results.findAnd = results.$and = function (conditions) {
    const indexed = (one) => telling.some((key) => typeof one[key] === "string" && key in this.collection.binaryIndices);
    const first = this.filterInitialized ? undefined : conditions.find(indexed);
    return findAnd.call(this, first === undefined ? conditions : [first, ...conditions.filter((one) => one !== first)]);
  };
} catch {}
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
 * Tells the process that started the emulator when a message that was sent or updated can be received, so that instances need not
 * wait for their next poll.
 */
const tellOfMessages = `
import { Server } from "node:http";
const { emit } = Server.prototype;
Server.prototype.emit = function (event, request, response) {
  const sent = event === "request" && /^(POST |PUT .*popreceipt=)/.test(request.method + " " + request.url);
  const queue = sent && /^\\/[^/]+\\/([^/]+)\\/messages\\b/.exec(request.url)?.[1];
  if (queue) {
    const hiddenMs = 1000 * Number(new URL(request.url, "http://x").searchParams.get("visibilitytimeout"));
    const tell = () => process.connected && process.send({ queue }, () => {});
    response.once("finish", () => {
      if (response.statusCode < 300) hiddenMs > 0 ? setTimeout(tell, hiddenMs).unref() : tell();
    });
  }
  return emit.apply(this, arguments);
};
`;

/** All of it as a module for `node --import`. */
export const azuritePreload = (azuriteManifest: string, { tables }: { readonly tables: boolean }): string =>
  `data:text/javascript,${encodeURIComponent(
    `${privateFiles}${fasterIndex(azuriteManifest)}${tables ? "" : noTables(azuriteManifest)}${tellOfMessages}${endWithParent}`,
  )}`;
