import type { Marker } from "../../../../src/engine/model/marker.ts";
import type { WorkMessage } from "../../../../src/engine/model/message.ts";
import { scheduleBlobs } from "../../../../src/engine/model/names.ts";
import { parseOutputFacts } from "../../../../src/engine/model/output.ts";
import type { Failure, Manifest, Plan, Spec } from "../../../../src/engine/model/run.ts";
import { parseFailure } from "../../../../src/engine/model/runBlobs.ts";
import type { State } from "../../../../src/engine/model/state.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import type { RangesInput } from "../../../support/rangesCode.ts";
import type { Effect, Written } from "./effects.ts";

/** What storage holds of one uid, kept from nothing but the effects that it accepted. */
export interface RunRecord {
  readonly id: string;
  readonly uid: string;
  /** As last there; `specThere` says whether it still is. */
  spec?: Spec;
  specThere: boolean;
  plan?: Plan;
  /** Of plans that are lists, by attempt and first chunk. */
  readonly inputs: Map<string, readonly RangesInput[]>;
  state?: State;
  marker?: Marker;
  /** Once somebody has asked for its deletion. */
  deleteAskedMs?: number;
  /** When its spec was created last. */
  specMs?: number;
  /** When its spec was removed, or its marker where no spec was. */
  closedMs?: number;
  /** Of the latest state. */
  stateEtag?: string;
  /** Of generations that were to end with what was done: the partials that were there then, by pack. */
  readonly kept: Map<number, ReadonlyMap<number, string>>;
  /** Everything of this uid that is there, spec and marker left out: name by when it was written. */
  readonly blobs: Map<string, number>;
  /** ETags of the partials that are there, by pack. */
  readonly parts: Map<number, string>;
  /** Of those with gaps, by pack: the generation that made it, and the bitmap of the chunks that it has. */
  readonly gapped: Map<number, { readonly gen: number; readonly members: string }>;
  /** Of packs whose partial had gaps and was replaced: in which generation, and which chunks the one before had. */
  readonly mended: Map<number, { readonly gen: number; readonly members: string }>;
  /** The identities that made them. */
  readonly codes: Map<number, string>;
  /** Packs whose partials were copied from another run. */
  readonly copied: Set<number>;
  readonly failures: Map<string, SeenRecord>;
  readonly manifests: Map<number, Manifest>;
  /** An operator deleted something of it. */
  lostByHand?: boolean;
  /** A stranger sent messages for it. */
  forged?: boolean;
  /** What messages asked for, wherever they came from. */
  readonly sent: { readonly message: WorkMessage; readonly atMs: number }[];
  /** What any of its states has reached. */
  readonly highest: { generation: number; turn: number; terms: number; version: number };
}

interface SeenRecord {
  readonly work: NonNullable<ReturnType<typeof parseFailure>>["work"];
  readonly generation: number;
  readonly send: number;
  readonly failure: Failure;
}

export type Place =
  | { readonly kind: "spec"; readonly id: string }
  | { readonly kind: "marker"; readonly id: string }
  /** `rest`: the name below `{id}/{uid}/`. */
  | { readonly kind: "run"; readonly id: string; readonly uid: string; readonly rest: string }
  | { readonly kind: "result"; readonly id: string; readonly uid: string; readonly rest: string }
  | { readonly kind: "other" };

/** Which thing of which run a name belongs to. */
export function placeOf(container: string, name: string): Place {
  if (container === names.active && name.startsWith(scheduleBlobs)) return { kind: "other" };
  if (container === names.active) return { kind: "marker", id: name };
  const [id = "", uid = "", ...rest] = name.split("/");
  if (container === names.runs && uid === "spec.json") return { kind: "spec", id };
  if (rest.length === 0) return { kind: "other" };
  if (container === names.runs) return { kind: "run", id, uid, rest: rest.join("/") };
  return container === names.results ? { kind: "result", id, uid, rest: rest.join("/") } : { kind: "other" };
}

/** All checkers look at the same body one after the other, so the last one is remembered; nobody changes it. */
let last: { readonly body: Uint8Array | string; readonly value: unknown } | undefined;

export function parsed<T>(body: Uint8Array | string): T {
  if (last?.body !== body) {
    last = { body, value: JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString()) };
  }
  return last.value as T;
}

export class Ledger {
  readonly runs = new Map<string, RunRecord>();
  /** Queues lose messages, or hide them until the end, or some were burnt. */
  losesMessages = false;
  /** Bytes of results, by blob. */
  readonly results = new Map<string, Uint8Array | string>();
  readonly #there = new Set<string>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  isThere(container: string, name: string): boolean {
    return this.#there.has(`${container}/${name}`);
  }

  record(id: string, uid: string): RunRecord {
    const known = this.runs.get(uid);
    if (known !== undefined) return known;
    const fresh: RunRecord = {
      ...{ id, uid, specThere: false, blobs: new Map(), parts: new Map(), failures: new Map() },
      gapped: new Map(),
      mended: new Map(),
      ...{ codes: new Map(), copied: new Set(), inputs: new Map(), kept: new Map() },
      ...{ manifests: new Map(), sent: [], highest: { generation: 1, turn: 0, terms: 0, version: 1 } },
    };
    this.runs.set(uid, fresh);
    return fresh;
  }

  /** The uid whose marker or spec is there under this id. */
  current(id: string, what: "marker" | "spec"): RunRecord | undefined {
    const is = (one: RunRecord) => (what === "spec" ? one.specThere : one.marker !== undefined);
    return [...this.runs.values()].find((one) => one.id === id && is(one));
  }

  /** Takes an effect over; the checkers have seen the ledger as it was before. */
  apply(effect: Effect): void {
    if (effect.kind === "sent") {
      const { message } = effect;
      if (message !== undefined)
        this.record(message.run, message.uid).sent.push({ message, atMs: this.#nowMs() });
      return;
    }
    const key = `${effect.container}/${effect.name}`;
    if (effect.kind === "removed") {
      this.#there.delete(key);
      this.#remove(effect.container, effect.name);
    } else {
      this.#there.add(key);
      this.#write(effect);
    }
  }

  #write(effect: Written): void {
    const { container, name, body } = effect;
    const place = placeOf(container, name);
    if (place.kind === "marker") {
      const marker = markerIn(effect.metadata);
      const run = this.record(place.id, marker.uid);
      run.marker = marker;
      const { keep } = effect.metadata;
      if (keep !== undefined && !run.kept.has(marker.generation))
        run.kept.set(marker.generation, new Map(run.parts));
      // An expiry deletes only the state whose age it judged, or what has none.
      const { by, judged = run.stateEtag } = effect.metadata;
      const asks = by !== "expiry" || judged === run.stateEtag;
      if (marker.want === "delete" && asks) run.deleteAskedMs ??= this.#nowMs();
    } else if (place.kind === "spec") {
      const spec = parsed<Spec>(body);
      const run = this.record(place.id, spec.uid);
      run.spec = spec;
      run.specThere = true;
      run.specMs = this.#nowMs();
    } else if (place.kind !== "other") {
      const run = this.record(place.id, place.uid);
      run.blobs.set(key(container, name), this.#nowMs());
      if (place.kind === "result") this.#result(run, name, place.rest, body);
      else this.#document(run, name, place.rest, effect);
    }
  }

  #document(
    run: RunRecord,
    name: string,
    rest: string,
    { body, etag, contentType, metadata }: Written,
  ): void {
    if (rest === "plan.json") {
      run.plan = parsed<Plan>(body);
      run.parts.clear();
      run.gapped.clear();
    } else if (rest.startsWith("plan/")) {
      const { from, inputs } = parsed<{ from: number; inputs: RangesInput[] }>(body);
      run.inputs.set(`${rest.split("/")[1]} ${from}`, inputs);
    } else if (rest === "state.json") {
      run.stateEtag = etag;
      this.#state(run, parsed<State>(body));
    } else if (rest.startsWith("parts/")) {
      run.parts.set(numberAtEnd(rest), etag);
      const { gaps } = parseOutputFacts(contentType);
      const before = run.gapped.get(numberAtEnd(rest));
      if (before !== undefined)
        run.mended.set(numberAtEnd(rest), { gen: run.state?.generation ?? 1, members: before.members });
      if (gaps === undefined) run.gapped.delete(numberAtEnd(rest));
      else run.gapped.set(numberAtEnd(rest), { gen: gaps.gen, members: metadata["members"] ?? "" });
      run.codes.set(numberAtEnd(rest), codeOf(contentType));
      if (contentType.includes("; attempt=0;")) run.copied.add(numberAtEnd(rest));
    } else if (rest.startsWith("failed/")) {
      const at = parseFailure(name);
      if (at !== undefined) run.failures.set(name, { ...at, failure: parsed<Failure>(body) });
    }
  }

  #state(run: RunRecord, state: State): void {
    const { highest } = run;
    run.state = state;
    // Its deadline is over, or all that is left waits beyond it.
    const late = state.keep === true && run.spec?.deadline?.keep === true;
    if (late && !run.kept.has(state.generation)) run.kept.set(state.generation, new Map(run.parts));
    highest.generation = Math.max(highest.generation, state.generation);
    highest.turn = Math.max(highest.turn, state.turn);
    highest.terms = Math.max(highest.terms, state.terms.length);
    highest.version = Math.max(highest.version, state.v);
  }

  #result(run: RunRecord, name: string, rest: string, body: Uint8Array | string): void {
    if (rest.endsWith("/manifest.json"))
      run.manifests.set(Number(rest.split("/")[0]), parsed<Manifest>(body));
    else if (rest.includes("/result.")) this.results.set(name, body);
  }

  #remove(container: string, name: string): void {
    const place = placeOf(container, name);
    if (place.kind === "marker") {
      const run = this.current(place.id, "marker");
      if (run === undefined) return;
      delete run.marker;
      run.closedMs ??= this.#nowMs();
    } else if (place.kind === "spec") {
      const run = this.current(place.id, "spec");
      if (run === undefined) return;
      run.specThere = false;
      run.closedMs = this.#nowMs();
    } else if (place.kind !== "other") {
      const run = this.record(place.id, place.uid);
      run.blobs.delete(key(container, name));
      if (place.rest === "state.json") delete run.state;
      const { rest } = place;
      if (rest.startsWith("parts/")) {
        run.parts.delete(numberAtEnd(rest));
        run.gapped.delete(numberAtEnd(rest));
      }
      if (place.rest.startsWith("failed/")) run.failures.delete(name);
      if (place.rest.endsWith("/manifest.json")) run.manifests.delete(Number(place.rest.split("/")[0]));
      this.results.delete(name);
    }
  }
}

/** The inputs of a run's chunks by its plan; none where that is only a count. */
export const inputsOf = ({ plan, inputs }: RunRecord): readonly RangesInput[] =>
  plan?.segments?.starts.flatMap((from) => inputs.get(`${plan.segments?.attempt} ${from}`) ?? []) ?? [];

export const codeOf = (contentType: string): string =>
  decodeURIComponent(/; code=([^;\s]+)/.exec(contentType)?.[1] ?? "");

const key = (container: string, name: string): string => `${container}/${name}`;
export const numberAtEnd = (rest: string): number => Number(rest.slice(rest.lastIndexOf("/") + 1));

/** Decoded with no regard to its wire version. */
function markerIn(metadata: Readonly<Record<string, string>>): Marker {
  const number = (name: string) => Number(metadata[name]);
  return {
    ...{ uid: metadata["uid"] ?? "", want: metadata["want"] as Marker["want"] },
    ...{ generation: number("generation"), cap: number("cap"), turn: number("turn") },
    command: number("command"),
    ...("rests" in metadata && { rests: number("rests") }),
  };
}
