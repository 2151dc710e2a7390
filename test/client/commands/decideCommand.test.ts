import fc from "fast-check";
import { expect, test } from "vitest";
import { type Change, decideCommand } from "../../../src/engine/client/commands/decideCommand.ts";
import { InputError } from "../../../src/engine/model/errors.ts";
import { decodeMarker, encodeMarker, type Marker, wantMoves } from "../../../src/engine/model/marker.ts";

const changes: readonly Change[] = [
  { kind: "pause" },
  { kind: "resume" },
  { kind: "cancel" },
  { kind: "cancel", keep: false },
  { kind: "cancel", keep: true },
  { kind: "cap", cap: 7 },
  { kind: "cap", cap: 8 },
  { kind: "delete" },
];
const first: Marker = { uid: "u", want: "run", generation: 1, cap: 2000, turn: 0, command: 0 };

/** The markers that a list of commands to a working run leads to, each refused one left out. */
function markersOf(given: readonly Change[]): readonly Marker[] {
  const markers = [first];
  for (const change of given) {
    const marker = markers.at(-1) as Marker;
    try {
      const facts = { uid: "u", hasSpec: true, marker, markerEtag: "e", state: undefined };
      const next = decideCommand("r1", change, facts);
      if (next.kind === "write") markers.push(decodeMarker(encodeMarker(next.marker), "r1"));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
    }
  }
  return markers;
}

test("any commands change `want` by the table, and no later cancel changes `keep`", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...changes), { maxLength: 12 }), (given) => {
      const markers = markersOf(given);
      for (const [at, next] of markers.slice(1).entries()) {
        const before = markers[at] as Marker;
        expect(wantMoves[before.want]).toContain(next.want);
        expect(next.command).toBe(before.command + 1);
        const turns = next.want !== before.want && ["run", "paused"].includes(next.want);
        expect(next.turn - before.turn).toBe(Number(turns));
        if (next.keep === "1") expect(["cancelled", "delete"]).toContain(next.want);
        if (before.want === "cancelled") expect(next.keep).toBe(before.keep);
      }
    }),
  );
});
