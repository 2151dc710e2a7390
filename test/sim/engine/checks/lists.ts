import { isFinal } from "../../../../src/engine/model/state.ts";
import type { Check, Scene } from "./judge.ts";
import { placeOf } from "./ledger.ts";

/** What a summary says, read without the code that wrote it. */
interface Summary {
  readonly run: string;
  readonly uid: string;
  readonly generation: number;
  readonly phase: string;
}

const checker = "lists show what has ended";

/**
 * When the marker of an ended run goes, its summary is there and says what the state says; it goes before the spec, and a
 * summary of an earlier generation never replaces a later one's.
 */
export function listsShowWhatHasEnded({ ledger, report }: Scene): Check {
  const summaries = new Map<string, Summary>();
  const of = (id: string, uid: string) =>
    [...summaries.values()].find((one) => one.run === id && one.uid === uid);

  function markerGoes(id: string): void {
    const run = ledger.current(id, "marker");
    if (run?.state === undefined || !run.specThere || !isFinal(run.state.phase)) return;
    if (run.marker?.want === "delete" || run.lostByHand === true) return;
    const { generation, phase } = run.state;
    const found = of(id, run.uid);
    if (found?.generation === generation && found.phase === phase) return;
    const shown = found === undefined ? "not listed" : `listed as ${found.phase} in ${found.generation}`;
    report(checker, `${id} (${run.uid}) is ${phase} in generation ${generation}, and ${shown}`);
  }

  return (effect) => {
    if (effect.kind === "sent") return;
    const { container, name } = effect;
    if (container.endsWith("-runs") && name.startsWith("_closed/")) {
      if (effect.kind === "removed") return void summaries.delete(name);
      const text = Buffer.from(effect.metadata["run"] ?? "", "base64url").toString();
      const summary = JSON.parse(text) as Summary;
      const before = summaries.get(name);
      if (before?.uid === summary.uid && before.generation > summary.generation) {
        report(checker, `${name}: generation ${summary.generation} replaced ${before.generation}`);
      }
      return void summaries.set(name, summary);
    }
    if (effect.kind !== "removed") return;
    const place = placeOf(container, name);
    if (place.kind === "marker") markerGoes(place.id);
    if (place.kind !== "spec") return;
    const run = ledger.current(place.id, "spec");
    if (run !== undefined && of(place.id, run.uid) !== undefined)
      report(checker, `the deleted ${place.id} (${run.uid}) is still listed`);
  };
}
