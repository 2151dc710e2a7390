import { isFinal, type State } from "../../../../src/engine/model/state.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf, type RunRecord } from "./ledger.ts";

/** What a summary says, read without the code that wrote it. */
interface Summary {
  readonly run: string;
  readonly uid: string;
  readonly generation: number;
  readonly phase: string;
}

const checker = "lists show what has ended";

/** The word in a summary's content, as a subscriber reads it. */
interface Word {
  readonly type: string;
  readonly data: { readonly id: string; readonly run: string };
}

/**
 * When the marker of an ended run goes, its summary is there and says what the state says; it goes before the spec, and a
 * summary of an earlier generation never replaces a later one's. Each generation that ended has a blob of its own content
 * before the next begins: Event Grid tells of a Put Blob, and of no change of metadata.
 */
export function listsShowWhatHasEnded({ ledger, report }: Scene): Check {
  const summaries = new Map<string, Summary>();
  const of = (id: string, uid: string) =>
    [...summaries.values()].find((one) => one.run === id && one.uid === uid);

  /** Whether a final state of a run that nobody deleted is listed; a spec that is gone has no summary. */
  function mustBeListed(run: RunRecord | undefined): void {
    if (run?.state === undefined || !run.specThere || !isFinal(run.state.phase)) return;
    if (run.marker?.want === "delete" || run.lostByHand === true) return;
    const { generation, phase } = run.state;
    const found = of(run.id, run.uid);
    if (found?.generation === generation && found.phase === phase) return;
    const shown = found === undefined ? "not listed" : `listed as ${found.phase} in ${found.generation}`;
    report(checker, `${run.id} (${run.uid}) is ${phase} in generation ${generation}, and ${shown}`);
  }

  return (effect) => {
    if (effect.kind === "sent") return;
    const { container, name } = effect;
    if (container.endsWith("-runs") && name.startsWith("_closed/")) {
      if (effect.kind === "removed") return void summaries.delete(name);
      const text = Buffer.from(effect.metadata["run"] ?? "", "base64url").toString();
      const summary = JSON.parse(text) as Summary;
      const { data, type } = JSON.parse(String(effect.body) || "{}") as Partial<Word>;
      const told = data?.run === summary.run && data.id === `${summary.uid}-${summary.generation}`;
      if (effect.kind === "marked" || !told || type !== `run.${summary.phase}`)
        report(
          checker,
          `${name}: ${effect.kind} without the completion event of ${summary.uid}-${summary.generation}`,
        );
      const before = summaries.get(name);
      if (before?.uid === summary.uid && before.generation > summary.generation) {
        report(checker, `${name}: generation ${summary.generation} replaced ${before.generation}`);
      }
      return void summaries.set(name, summary);
    }
    const place = placeOf(container, name);
    if (place.kind === "run" && place.rest === "state.json" && effect.kind !== "removed") {
      const known = ledger.record(place.id, place.uid);
      const { generation } = parsed<State>(effect.body);
      if (generation > (known?.state?.generation ?? generation)) mustBeListed(known);
    }
    if (effect.kind !== "removed") return;
    if (place.kind === "marker") mustBeListed(ledger.current(place.id, "marker"));
    if (place.kind !== "spec") return;
    const run = ledger.current(place.id, "spec");
    // Of a spec that was put back nobody knows when its run began, by which its summary is named.
    if (run !== undefined && run.lostByHand !== true && of(place.id, run.uid) !== undefined)
      report(checker, `the deleted ${place.id} (${run.uid}) is still listed`);
  };
}
