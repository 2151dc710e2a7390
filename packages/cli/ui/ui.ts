import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import type { ApiPorts } from "../../../src/app/api/apiRequest.ts";
import type { PlanRequest } from "../../../src/engine/client/estimate/planInThread.ts";
import { invalid, type RunRequest } from "../../../src/engine/client/runRequest.ts";
import { messageOf } from "../../../src/engine/model/errors.ts";
import { namePattern } from "../../../src/engine/model/identity.ts";
import { portsOf } from "../api.ts";
import { askedCalculation, knownAndRunning } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { writePrivate } from "../local/privateFile.ts";
import { runtimeFolder } from "../local/userFolders.ts";
import { badOption, checkRange, wholeOption } from "../options.ts";
import { oneLine } from "../render/text.ts";
import { type ServedUi, serveUi } from "./serveUi.ts";

interface Options {
  readonly port?: number;
  readonly open?: boolean;
  readonly readOnly?: boolean;
}

/** `leasefold ui`: the dashboard on this machine, with the access that the command itself has. */
export function addUi(program: Command, session: Session): void {
  program
    .command("ui")
    .description("serve the dashboard on this machine with your own access, until Ctrl-C")
    .option("--port <p>", "port on 127.0.0.1 (default: any free one)", wholeOption)
    .option("--open", "open it in the browser")
    .option("--read-only", "show everything, but refuse every change")
    .action(async (options: Options) => {
      checkRange("port", options.port, 1, 65_535);
      const ui = await startUi(session, options);
      let opened: string | undefined;
      try {
        await tell(session, ui);
        if (options.open === true) opened = await openPage(session, ui);
        await session.stopped();
      } finally {
        if (opened !== undefined) await rm(opened, { force: true });
        await ui.stop();
      }
    });
}

async function startUi(session: Session, { port, readOnly = false }: Options): Promise<ServedUi> {
  // A wrong option or unreachable storage ends the command before anything is served.
  const ports = await portsWithInstances(session);
  const line = (...args: readonly unknown[]): void =>
    void session.note(oneLine(args.map((one) => (typeof one === "string" ? one : messageOf(one))).join(" ")));
  return await serveUi({
    host: { readOnly: () => readOnly, ports: () => ports },
    port: { number: port ?? 0, wish: port === undefined },
    log: { warn: line, error: line },
  }).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== "EADDRINUSE") throw error;
    throw badOption("port", `${port}: the port is in use`);
  });
}

/** The address has a token, which a log or a file would keep: only a terminal gets it, and a program that asks for JSON. */
async function tell(session: Session, { address, port }: ServedUi): Promise<void> {
  if (session.json()) return await session.printJson({ address, port });
  if (session.cli.out.isTty) {
    await session.print(address);
    return await session.note("whoever has this address has your access; Ctrl-C ends it");
  }
  await session.print(address.replace(/#.*/, ""));
  await session.note("standard output is no terminal, so the address is without its token: --json gives it");
}

/** What the app gives its handlers, and what local instances know: calculations of the user's files are submitted and planned there. */
async function portsWithInstances(session: Session): Promise<ApiPorts> {
  const calculations = await session.cli.calculations();
  const here = portsOf(session, { ...(await session.storage()), calculations });
  return {
    ...here,
    calculations: () => knownAndRunning(session),
    async submit({ calculation, params, ...options }: RunRequest) {
      const api = await (await askedCalculation(session, nameOf(calculation))).api();
      return (await api.submit(calculation, params, options)).submitted;
    },
    async plan(request: PlanRequest) {
      const isHere = here.client.calculations.list().some(({ name }) => name === request.calculation);
      const instances = isHere ? undefined : await session.instances();
      return await (instances === undefined ? here.plan(request) : instances.plan(request));
    },
  };
}

/** The command line also takes files; a request names calculations only. */
function nameOf(calculation: string): string {
  if (namePattern.test(calculation)) return calculation;
  const shown = JSON.stringify(calculation.slice(0, 80));
  throw invalid("calculation", `${shown} is no name of a calculation`, "unknown-calculation");
}

/**
 * Opens the browser on a file of this user that leads to the address: as an argument of a program, the address with its
 * token could be read by every user of this machine. Returns the file.
 */
async function openPage(session: Session, { address, port }: ServedUi): Promise<string> {
  const { cli } = session;
  const path = join(await runtimeFolder(cli.env), `ui-${port}.html`);
  const page = `<!doctype html><meta charset="utf-8"><title>Leasefold</title>
<meta http-equiv="refresh" content="0; url=${address}"><a href="${address}">Leasefold</a>
`;
  await writePrivate(path, page);
  const failed = "no browser could be opened; open the address yourself";
  await cli
    .openFile?.(path)
    .catch((error: unknown) => session.note(`${failed} (${oneLine(messageOf(error))})`));
  return path;
}
