import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { ownUid } from "./privateFile.ts";

/** An app of a user's own, as `leasefold init` writes it. */
interface UserApp {
  readonly appDir: string;
  /** Undefined where there is no such folder: then only the app's main file says what it computes. */
  readonly calculations: string | undefined;
}

/** Below the app's folder; `leasefold init` writes them there, and the app's main file names the same folder. */
export const calculationsFolder = join("src", "calculations");

const packageSchema = z.looseObject({
  main: z.string().min(1),
  dependencies: z.looseObject({ leasefold: z.string() }),
});

/**
 * The nearest folder at or above this one that has `host.json` and a `package.json` which names a main file and depends on
 * Leasefold, and in which no other user can place files. Undefined without one.
 */
export function findUserApp(folder: string): UserApp | undefined {
  if (
    isOwn(folder) &&
    existsSync(join(folder, "host.json")) &&
    dependsOnLeasefold(join(folder, "package.json"))
  ) {
    const calculations = join(folder, calculationsFolder);
    return { appDir: folder, calculations: existsSync(calculations) ? calculations : undefined };
  }
  return dirname(folder) === folder ? undefined : findUserApp(dirname(folder));
}

/** Whether it is this user's or the administrator's, and not everybody's as `/tmp` is. Windows has no such modes. */
function isOwn(folder: string): boolean {
  const { uid, mode } = statSync(folder, { throwIfNoEntry: false }) ?? { uid: -1, mode: 0 };
  return ownUid === undefined || ([ownUid, 0].includes(uid) && (mode & 0o002) === 0);
}

function dependsOnLeasefold(file: string): boolean {
  try {
    return packageSchema.safeParse(JSON.parse(readFileSync(file, "utf8"))).success;
  } catch {
    return false;
  }
}
