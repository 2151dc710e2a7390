import { resultBlobs } from "../../../../src/engine/model/runBlobs.ts";
import { filesIn } from "../../../support/rangesCode.ts";
import type { Check, Scene } from "./judge.ts";
import { placeOf } from "./ledger.ts";

/** A partial, node or result names only files of its own run that are there: whoever reads it may fetch them. */
export function filesComeFirst({ ledger, report }: Scene): Check {
  return (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "run" && place.kind !== "result") return;
    if (!/^(parts|nodes)\/|\/result\./.test(place.rest)) return;
    const run = ledger.record(place.id, place.uid);
    // What arrives after a deletion is read by nobody, and swept.
    if (run.deleteAskedMs !== undefined) return;
    const there = resultBlobs(place.id, place.uid);
    for (const name of filesIn(Buffer.from(effect.body as Uint8Array).toString()) ?? [])
      if (!ledger.isThere("sim-results", there.file(name)))
        report("what names a file comes after it", `${effect.name} names ${name}, which is not there`);
  };
}
