import { logEvents } from "../../src/engine/model/log.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { settingsSchema } from "../../src/engine/model/settings.ts";

/** What the code says: the infrastructure must say the same. */
export interface Facts {
  /** After the namespace and a dash. */
  readonly containers: readonly string[];
  readonly queues: readonly string[];
  readonly functions: readonly string[];
  readonly events: readonly string[];
  /** Names of fields that events have. */
  readonly fields: ReadonlySet<string>;
  /** The `LEASEFOLD_` settings. */
  readonly settings: readonly string[];
  /** Whether the settings schema takes the value, which an environment has as text. */
  takes(setting: string, value: unknown): boolean;
  /** `DataStorage` and its children, as `src/azure/dataStorage.ts` reads them. */
  readonly connection: string;
  readonly connectionSettings: readonly string[];
  /** The lowest Node version that the bundle is built for. */
  readonly nodeMinimum: number;
  /** Files of the app in `dist`. */
  readonly bundle: readonly string[];
  /** Folder of the calculations of one's own, and what the build makes of it. */
  readonly own: { readonly source: string; readonly built: string };
}

const suffixMark = "n";

export function readFacts(files: ReadonlyMap<string, string>): Facts {
  const text = (file: string) => files.get(file) ?? "";
  const triggers = text("src/app/functions/registerTriggers.ts");
  const names = Object.entries(namesOf(suffixMark));
  const isQueue = (key: string) =>
    new RegExp(`queueName: names\\.${key}\\b|", names\\.${key}, (true|false)`).test(triggers);
  const suffix = (name: string) => name.slice(suffixMark.length + 1);
  const election = text("src/election/events.ts");
  const events = Object.entries(logEvents).flatMap(([key, make]) =>
    key === "election" ? [] : [(make as (fields: object) => { event: string })({}).event],
  );
  const build = text("scripts/build.mjs");
  return {
    containers: names.filter(([key]) => !isQueue(key)).map(([, name]) => suffix(name)),
    queues: names.filter(([key]) => isQueue(key)).map(([, name]) => suffix(name)),
    functions: functionsIn(triggers),
    events: [...events, ...all(election, /readonly kind: "(\w+)"/g).map((kind) => `lease-${kind}`)],
    fields: new Set(all(`${text("src/engine/model/log.ts")}${election}`, /\b([a-zA-Z]\w*)\??:/g)),
    settings: Object.keys(settingsSchema.shape),
    takes(setting, value) {
      const schema = Object.entries(settingsSchema.shape).find(([name]) => name === setting)?.[1];
      return schema?.safeParse(String(value)).success ?? false;
    },
    connection: all(text("src/app/functions/connection.ts"), /const connection = "(\w+)"/g)[0] ?? "",
    connectionSettings: all(text("src/azure/dataStorage.ts"), /env\["(\w+__\w+)"\]/g),
    nodeMinimum: Number(all(build, /target: "node(\d+)"/g)[0]),
    bundle: [
      ...all(build, /appFiles = \[([^\]]*)\]/g).flatMap((list) => all(list, /"([^"]+)"/g)),
      ...all(build, /pageFiles = \[([^\]]*)\]/g).flatMap((list) =>
        all(list, /"([^"]+)"/g).map((name) => `ui/${name}`),
      ),
      ...all(build, /chunkNames: "([^"]+)"/g).map((name) => `${name}.cjs`),
      // What calculations of a user's own import, in TypeScript and in Python.
      ...["leasefold.mjs", "python/leasefold.py"],
      // The page gives it to programs.
      "ui/openapi.json",
    ],
    own: {
      source: all(text("scripts/ownCalculations.mjs"), /folder = join\(root, "([^"]+)"\)/g)[0] ?? "",
      built: `dist/${all(text("scripts/ownCalculations.mjs"), /out = join\(dist, "([^"]+)"\)/g)[0]}`,
    },
  };
}

/**
 * `app.timer("coordinator"`, and the workers. Those of the API are one group to the platform, `http`, so no parameter and no
 * query names them.
 */
function functionsIn(triggers: string): string[] {
  const plain = all(triggers, /app\.\w+\("(\w+)"/g);
  const workers = all(triggers, /\["(\w+)", names\.\w+, (?:true|false)\]/g);
  return [...plain, ...workers];
}

/** The first group of every match. */
export const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? "");
