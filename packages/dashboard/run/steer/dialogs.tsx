import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { count } from "../../../../src/engine/model/figures.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { type DialogPorts, wordsOf } from "./steering.ts";
import { useVerb } from "./useVerb.ts";

export function CapDialog({ view, onClose, onDone }: DialogPorts): JSX.Element {
  const [text, setText] = useState(String(view.cap ?? ""));
  const { now, send } = useVerb(view, onDone);
  const [dollars, setDollars] = useState(String(view.maxCost ?? ""));
  const cap = Number(text);
  const maxCost = dollars === "" ? undefined : Number(dollars);
  return (
    <Dialog
      title={`Cap ${view.run}`}
      act="Set the cap"
      now={now}
      onAct={() => send("cap", `Cap of ${count(cap)} asked`, { cap, maxCost })}
      onClose={onClose}
    >
      <p>{wordsOf("cap", view)}</p>
      <label class="field">
        <span>Packs in flight at most</span>
        <input
          inputMode="numeric"
          pattern="[1-9][0-9]{0,6}"
          required
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Dollars at most</span>
        <input
          inputMode="decimal"
          pattern="[0-9]{1,6}([.][0-9]+)?"
          required={view.maxCost !== undefined}
          value={dollars}
          onInput={(event) => setDollars(event.currentTarget.value)}
        />
      </label>
    </Dialog>
  );
}

export function CancelDialog({ view, onClose, onDone }: DialogPorts): JSX.Element {
  const [keep, setKeep] = useState(false);
  const { now, send } = useVerb(view, onDone);
  return (
    <Dialog
      title={`Cancel ${view.run}?`}
      act={keep ? "End and keep what is done" : "Cancel the run"}
      destroys={!keep}
      now={now}
      onAct={() => send("cancel", "Cancel asked; a leader will answer", { keep })}
      onClose={onClose}
    >
      <p>{wordsOf("cancel", view)}</p>
      <fieldset>
        <legend>What becomes of what is done</legend>
        <label class="check">
          <input type="radio" name="keep" checked={!keep} onChange={() => setKeep(false)} />
          <span>No result. The partials stay, so that a retry or the answer so far can use them.</span>
        </label>
        <label class="check">
          <input type="radio" name="keep" checked={keep} onChange={() => setKeep(true)} />
          <span>Finish with what is done: a result with gaps, which says what is missing.</span>
        </label>
      </fieldset>
    </Dialog>
  );
}

export function DeleteDialog({ view, onClose, onDone }: DialogPorts): JSX.Element {
  const { now, send } = useVerb(view, onDone);
  return (
    <Dialog
      title={`Delete ${view.run}?`}
      act="Delete for good"
      destroys
      now={now}
      onAct={() => send("delete", "Deletion asked; the run is gone when it can no longer be found")}
      onClose={onClose}
    >
      <p>{wordsOf("delete", view)}</p>
      {view.active ? <p>The run is still at work: it ends without a result.</p> : null}
    </Dialog>
  );
}
