import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { ConfigError, InputError } from "../../../src/engine/model/errors.ts";
import type { Session } from "../cli.ts";
import { type ConnectOptions, type Env, namesStorage } from "../connect.ts";
import { type Asker, askers } from "../doctor/checkRoles.ts";
import { diagnose, type StorageToCheck } from "../doctor/diagnose.ts";
import type { Finding } from "../doctor/finding.ts";
import { failed } from "../exitCodes.ts";
import { systemReason } from "../options.ts";
import { countOf, oneLine, paint } from "../render/text.ts";

interface DoctorOptions {
  readonly settings?: string;
  readonly host?: string;
  readonly as?: Asker;
}

/** `leasefold doctor`: checks the set-up of the app, and suggests a fix for each problem. */
export function addDoctor(program: Command, session: Session): void {
  program
    .command("doctor")
    .description("check settings, host.json, storage, roles and queues, and suggest a fix for what is wrong")
    .option(
      "--settings <file>",
      'local.settings.json, or the output of "az functionapp config appsettings list"; settings of this shell are then ignored',
    )
    .option("--host <file>", "host.json of the app (default: the one in this folder)")
    .addOption(
      new Option("--as <who>", "whose rights to check (default: judged by what you can write)").choices(
        askers,
      ),
    )
    .action(async (options: DoctorOptions, command: Command) => {
      const { cli } = session;
      const given = await textOf(cli.folder, options.settings, usualSettings);
      const ofFile = given === undefined ? {} : readAppSettings(given);
      const hostJson = await textOf(cli.folder, options.host, "host.json");
      const findings = await diagnose({
        env: options.settings === undefined ? { ...ofFile, ...cli.env } : ofFile,
        ofApp: given !== undefined,
        hostJson,
        storage: storageToCheck(session, command.optsWithGlobals(), ofFile, options.settings),
        as: options.as,
      });
      if (findings.some(({ state }) => state === "wrong")) session.exitCode = failed;
      if (session.json()) return await session.printJson({ findings });
      await tell(session, findings);
    });
}

/** The text of the named file, which must exist, or of the usual one, which need not. */
const textOf = (folder: string, named: string | undefined, usual: string): Promise<string | undefined> =>
  readFile(resolve(folder, named ?? usual), "utf8").catch((error: unknown) => {
    if (named === undefined) return undefined;
    throw new InputError("invalid", "no-file", `cannot read the file: ${named}: ${systemReason(error)}`);
  });

const usualSettings = "local.settings.json";

/**
 * The storage that an option, the settings file that the user names, or the shell names. The usual file of a folder is
 * judged but never followed: it may come with a cloned repository, and would receive the user's token.
 */
function storageToCheck(
  { cli }: Session,
  options: ConnectOptions,
  ofFile: Env,
  file: string | undefined,
): StorageToCheck {
  const { connection, account } = options;
  const option = connection !== undefined ? "--connection" : account !== undefined ? "--account" : undefined;
  if (option !== undefined) return { namedBy: option, connect: () => cli.connect(options) };
  if (file !== undefined) {
    const connect = async () => {
      if (!namesStorage({}, ofFile)) throw noStorage(file);
      return await cli.connect(options, withoutIdentity(ofFile));
    };
    return { namedBy: file, connect };
  }
  const connect = () => cli.connect(options);
  if (namesStorage({}, cli.env)) return { namedBy: "the environment", connect };
  if (!namesStorage({}, ofFile)) return { namedBy: "leasefold up", connect };
  return {
    notContacted: `${usualSettings} names a storage, which is contacted only on request`,
    cure: `if you trust this file: leasefold doctor --settings ${usualSettings}`,
  };
}

const noStorage = (file: string): ConfigError =>
  new ConfigError(
    "no-storage",
    `${file} names no storage: it lacks DataStorage and DataStorage__blobServiceUri`,
  );

/** An app's settings with the sign-in of this machine instead of the app's identity, which only the app has. */
const withoutIdentity = ({ DataStorage__credential, DataStorage__clientId, ...others }: Env): Env => others;

const marks = { ok: "✓", warning: "!", wrong: "✗", skipped: "–" } as const;
const colors = { ok: "green", warning: "yellow", wrong: "red", skipped: "dim" } as const;

async function tell(session: Session, findings: readonly Finding[]): Promise<void> {
  const { out } = session.cli;
  for (const { check, state, what, why, cure } of findings) {
    await session.print(`${paint(out, colors[state], marks[state])} ${check.padEnd(9)}${oneLine(what)}`);
    if (why !== undefined) await session.print(`${" ".repeat(11)}${paint(out, "dim", oneLine(why))}`);
    if (cure !== undefined) await session.print(`${" ".repeat(11)}→ ${oneLine(cure)}`);
  }
  const count = (state: Finding["state"]): number => findings.filter((one) => one.state === state).length;
  const [wrong, warnings] = [count("wrong"), count("warning")];
  const text = `${wrong} wrong, ${countOf(warnings, "warning")}`;
  await session.print(wrong + warnings === 0 ? "nothing wrong" : text);
}

/** The settings in `local.settings.json`, in the output of `az functionapp config appsettings list`, or in a plain object. Throws `InputError`. */
export function readAppSettings(text: string): Readonly<Record<string, string>> {
  const bad = (rule: string) => new InputError("invalid", "bad-settings-file", `invalid --settings: ${rule}`);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw bad("the file is not JSON");
  }
  if (typeof given !== "object" || given === null)
    throw bad("the file is neither an object nor a list of settings");
  const { IsEncrypted, Values } = given as { IsEncrypted?: unknown; Values?: unknown };
  if (IsEncrypted === true) throw bad('the file is encrypted: run "func settings decrypt" first');
  const pairs = Array.isArray(given)
    ? given.map(({ name, value }: { name?: unknown; value?: unknown }) => [name, value] as const)
    : Object.entries(typeof Values === "object" && Values !== null ? Values : given);
  return Object.fromEntries(
    pairs.flatMap(([name, value]) =>
      typeof name === "string" && value != null ? [[name, String(value)]] : [],
    ),
  );
}
