import { InputError, messageOf } from "../../engine/model/errors.ts";

/**
 * Code for the emulator's process that refuses records which no emulator of ours writes, before it listens: names of files
 * that lead out of its folder, which it would read for a blob and delete when nothing refers to them; containers that
 * anybody may read, and origins whose pages may. Unlike the pieces of `azuriteSpeed.ts` none of it may be left out: where an
 * emulator lacks what it replaces, the start fails.
 */
export const refusedExitCode = 77;
const mark = "leasefold refuses the data: ";

export const azuriteGuards = (azuriteManifest: string): string => `
import { createRequire as requireForGuards } from "node:module";
{
  const load = requireForGuards(${JSON.stringify(azuriteManifest)});
  const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  const refuse = (why) => {
    process.stderr.write(${JSON.stringify(mark)} + why + "\\n");
    process.exit(${refusedExitCode});
  };
  const checked = {
    $EXTENTS_COLLECTION$: ({ id, path, locationId }) => {
      if (!guid.test(id) || path !== id || locationId !== "Default") refuse("an extent is named " + JSON.stringify(id) + ", which is no GUID");
    },
    $CONTAINERS_COLLECTION$: ({ name, properties }) => {
      if (properties?.publicAccess) refuse("the container " + JSON.stringify(name) + " has public access");
    },
    $SERVICES_COLLECTION$: ({ cors }) => {
      if (cors !== undefined && cors.length !== 0) refuse("pages of other origins may read it (CORS)");
    },
  };
  for (const [module, file] of [["common", "LokiExtentMetadataStore"], ["blob", "LokiBlobMetadataStore"], ["queue", "LokiQueueMetadataStore"]]) {
    const store = load("./dist/src/" + module + "/persistence/" + file).default.prototype;
    const { init } = store;
    store.init = async function () {
      await init.call(this);
      for (const { name, data } of this.db.collections) data.forEach(checked[name] ?? (() => {}));
    };
  }
  const extents = load("./dist/src/common/persistence/FSExtentStore").default.prototype;
  const { generateExtentPath } = extents;
  if (generateExtentPath === undefined) throw new Error("this emulator names its files in another way");
  extents.generateExtentPath = function (location, id) {
    if (!guid.test(id)) throw new Error("an extent is named " + JSON.stringify(id) + ", which is no GUID");
    return generateExtentPath.call(this, location, id);
  };
  // Records that it cannot use end its blob service alone; nothing works without that.
  load("./dist/src/common/GCCriticalErrorCloseHelper").handleGCCriticalErrorClose = () => {
    process.kill(process.pid, "SIGTERM");
  };
}
`;

/** The reason that a refusing emulator printed, as an error for its user. */
export function refusalIn(error: unknown): InputError {
  const [, why] = messageOf(error).split(mark);
  const text = `data: it is not used: ${why?.split("\n")[0] ?? "no reason was given"}`;
  return new InputError("conflict", "data-refused", text, { field: "data" });
}
