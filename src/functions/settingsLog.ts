import type { LeaderRecord } from "../election/record.ts";
import { type Log, logEvents } from "../model/log.ts";
import { differencesOf } from "../model/sharedSettings.ts";

type About = Readonly<Record<string, string>>;

/** More differences than this in the life of one process are not told. */
const toldMax = 100;

/**
 * Says once when another app on this namespace runs with other settings: the lease record tells those of whoever
 * wrote it, and every contender reads it. `about` is what this process tells of itself.
 */
export function settingsLog(log: Log, about: About): (record: LeaderRecord) => void {
  const told = new Set<string>();
  return ({ holder, about: there }) => {
    const found = there === undefined ? undefined : differencesOf(about, there);
    if (found === undefined || there === undefined) return;
    // By app and not by holder: the instances of an app come and go, and what is wrong stays the same.
    const key = `${there["app"]} ${found.message}`;
    if (told.has(key) || told.size >= toldMax) return;
    told.add(key);
    log(
      logEvents.settingsDiffer(found.unsafe ? "error" : "warn", {
        message: found.message,
        holder,
        ...(there["app"] === undefined ? {} : { app: there["app"] }),
        ...(there["version"] === undefined ? {} : { version: there["version"] }),
      }),
    );
  };
}
