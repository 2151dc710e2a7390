import { registerHooks } from "node:module";

/**
 * Loads the emulator without two packages that it never uses here: its telemetry, which is switched off, and its store in a SQL
 * server. With all that they need these are 300 packages, which a clone does not install (`overrides` in `package.json`), and a
 * second of CPU for each start.
 */
const left = new Set(["applicationinsights", "sequelize"]);
const [url, commonjs] = ["leasefold:left-out", { format: "commonjs", shortCircuit: true } as const];
/** The tables of the store extend this class as soon as they are loaded. */
const source = "exports.Model = class {};";
registerHooks({
  resolve: (name, context, next) => (left.has(name) ? { url, ...commonjs } : next(name, context)),
  load: (address, context, next) => (address === url ? { source, ...commonjs } : next(address, context)),
});
