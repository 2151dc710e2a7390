import { shardsOf } from "../../../../src/engine/model/packs.ts";
import type { State } from "../../../../src/engine/model/state.ts";
import { outcomes } from "./counts.ts";
import type { Effect } from "./effects.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf } from "./ledger.ts";

/** What holds for a state in itself, and from one write of it to the next. */

function stateIn(
  effect: Effect,
): { readonly state: State; readonly bytes: number; readonly id: string } | undefined {
  if (effect.kind !== "created" && effect.kind !== "replaced") return undefined;
  const place = placeOf(effect.container, effect.name);
  if (place.kind !== "run" || place.rest !== "state.json") return undefined;
  return { state: parsed<State>(effect.body), bytes: effect.body.length, id: place.id };
}

/** Within a generation a sealed shard stays sealed, with the same members, and its node does not go away. */
export const sealedStaysSealed =
  ({ ledger, report }: Scene): Check =>
  (effect) => {
    const written = stateIn(effect);
    if (written === undefined) return;
    const { state, id } = written;
    const before = ledger.record(id, state.uid).state;
    if (before?.generation !== state.generation) return;
    for (const [shard, sealed] of Object.entries(before.sealed)) {
      const now = state.sealed[shard];
      // It lies beyond the end of a run that has just stopped.
      const cut = state.stopped !== undefined && before.stopped === undefined && state.layout !== undefined;
      if (cut && state.layout && Number(shard) >= shardsOf(state.layout)) continue;
      if (
        now === undefined ||
        now.members !== sealed.members ||
        now.gaps !== sealed.gaps ||
        now.gen !== sealed.gen ||
        (sealed.node && !now.node)
      )
        report("a sealed shard never changes", `shard ${shard} of ${id}: ${text(sealed)}, then ${text(now)}`);
    }
  };

const text = (value: unknown): string => JSON.stringify(value) ?? "gone";

/** What a state holds for a shard, and for a pack that was sent more than once; and for everything else. */
const bytesPerShard = 220;
const bytesPerResend = 120;
const bytesElse = 16_000;

/** The state grows with its shards, and with packs that were resent only until they have ended. */
export const stateStaysSmall =
  ({ report }: Scene): Check =>
  (effect) => {
    const written = stateIn(effect);
    if (written?.state.layout === undefined) return;
    const { state, bytes, id } = written;
    const again = Object.keys(state.resent);
    const allowed =
      bytesElse + bytesPerShard * shardsOf(written.state.layout) + bytesPerResend * again.length;
    if (bytes > allowed)
      report("the state stays small", `the state of ${id} has ${bytes} bytes, not ${allowed}`);
    const open = new Set([...outcomes(state)].filter(({ is }) => is === "open").map(({ pack }) => pack));
    const ended = again.filter((pack) => !open.has(Number(pack)));
    if (ended.length > 0)
      report(
        "the state stays small",
        `${id} still tells of sends of packs that have ended: ${ended.join(", ")}`,
      );
  };
