/**
 * Has Node's warnings printed by the stream of standard error, whose terminal may be guarded. Node itself writes to the file,
 * also from a thread, and a warning may hold any text. Those that are switched off stay so.
 */
export function printWarnings(): void {
  if (process.listenerCount("warning") === 0) return;
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => void process.stderr.write(`${name}: ${message}\n`));
}
