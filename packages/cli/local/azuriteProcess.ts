import type { Server } from "node:http";
import { createRequire } from "node:module";
import { guardConnections } from "../../../src/host/connectionGuard.ts";
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

// The emulator has no maximum of connections of its own, and any user of the machine can open some.
const { default: ServerBase } = load("./common/ServerBase") as { default: { prototype: ServerBaseLike } };
const { start } = ServerBase.prototype;
ServerBase.prototype.start = function () {
  guardConnections(this.httpServer);
  return start.call(this);
};
interface ServerBaseLike {
  readonly httpServer: Server;
  start(): Promise<void>;
}

quickenRecords(load);
quickenMessages(load);

// Standard input is a pipe that nobody writes to and that closes when the process that started this one has ended, for whatever
// reason. After SIGTERM the emulator ends when nothing is left to do: the pipe must not keep it alive, and its last lines, which
// have no reader then, must not end it before it has stored its records.
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});
process.stdin
  .on("close", () => process.kill(process.pid, "SIGTERM"))
  .on("error", () => {})
  .resume()
  .unref();
