import { parseOutputFacts, planTag } from "../../../../src/engine/model/output.ts";
import { documentHash } from "../../../../src/engine/model/storedSpec.ts";
import { asRead } from "../builds.ts";
import type { Check, Scene } from "./judge.ts";
import { codeOf, numberAtEnd, parsed, placeOf, type RunRecord } from "./ledger.ts";

/**
 * Whatever is written create-only keeps its first bytes; of a run's blobs only the state is ever replaced, and an output
 * of another plan, or of other code than the plan's, by one of the right plan and code, and one with gaps by one of a later generation.
 */
export function firstWriterWins({ ledger, report }: Scene): Check {
  /** The plan of each output, as it says; and of each run, as it is. */
  const planOf = new Map<string, string | undefined>();
  const plans = new Map<string, string>();
  return (effect) => {
    if (effect.kind === "sent" || effect.kind === "removed") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind === "run" && place.rest === "plan.json")
      plans.set(place.uid, planTag(documentHash(asRead(effect.body))));
    const before = planOf.get(effect.name);
    const after = effect.metadata["plan"] ?? parseOutputFacts(effect.contentType).plan;
    planOf.set(effect.name, after);
    if (effect.kind === "created" && ledger.isThere(effect.container, effect.name)) {
      report("the first writer wins", `${effect.name} was written over`);
    }
    if (effect.kind !== "replaced") return;
    if ("uid" in place && before !== undefined && before !== after && after === plans.get(place.uid)) return;
    // Notes of attempts tell of the latest, and nothing is folded or judged by their bytes.
    if (place.kind === "run" && /\.(begun|tried)$|^failed\/code\./.test(place.rest)) return;
    // Each says itself what it has, and another attempt may have more.
    if (place.kind === "run" && /^kept\/\d+\/\d+$/.test(place.rest)) return;
    if (place.kind === "run" && isCured(ledger.record(place.id, place.uid), place.rest, effect.contentType))
      return;
    if ((place.kind === "run" && place.rest !== "state.json") || place.kind === "result") {
      report("the first writer wins", `${effect.name} was replaced`);
    }
  };
}

/** A partial that no fold takes gives way to one of the plan's code, and one with gaps to one of a retry. */
function isCured(run: RunRecord, rest: string, contentType: string): boolean {
  if (!rest.startsWith("parts/")) return false;
  if ((run.gapped.get(numberAtEnd(rest))?.gen ?? Infinity) < (run.state?.generation ?? 1)) return true;
  const wanted = run.state?.code;
  return codeOf(contentType) === wanted && run.codes.get(numberAtEnd(rest)) !== wanted;
}

/** Bytes of another version are never replaced, judged or thrown away by whoever does not understand them. */
export function versionsAreRespected({ ledger, report }: Scene): Check {
  const checker = "another version is respected";
  const versions = new Map<string, number>();
  return (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced" && effect.kind !== "marked") return;
    const { container, name } = effect;
    const place = placeOf(container, name);
    if (container.endsWith("-runs") && name.startsWith("_dropped/")) {
      const { text, code } = parsed<{ readonly text: string; readonly code: string }>(effect.body);
      if (/"v":2/.test(text)) report(checker, `a message of another version was dropped as ${code}: ${text}`);
      return;
    }
    if (place.kind !== "marker" && !/(spec|plan|state|manifest)\.json$/.test(name)) return;
    const { v } = place.kind === "marker" ? effect.metadata : parsed<{ readonly v: number }>(effect.body);
    const version = Number(v);
    const before = ledger.isThere(container, name) ? (versions.get(`${container}/${name}`) ?? 0) : 0;
    versions.set(`${container}/${name}`, version);
    if (before > 0 && version !== before)
      report(checker, `version ${version} of ${name} replaced version ${before}`);
  };
}
