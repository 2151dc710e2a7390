import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../../../apiClient/request.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { type DialogPorts, retryButton, retryText } from "./steering.ts";
import { type Given, useVerb } from "./useVerb.ts";

/** Says what a retry will compute. If the code has changed since, the person decides what that means. */
export function RetryDialog({ view, onClose, onDone }: DialogPorts): JSX.Element {
  const [redo, setRedo] = useState<Given["redo"]>();
  const { now, send } = useVerb(view, onDone);
  const otherCode = redo !== undefined || (now.kind === "failed" && isOtherCode(now.error));
  const retry = () => send("retry", "Retry asked; a leader will begin it", { redo });
  const act = redo === "recompute" ? "Compute everything again" : retryButton(view);
  return (
    <Dialog title={`Retry ${view.run}?`} act={act} now={now} onAct={retry} onClose={onClose}>
      <p>{retryText(view)}</p>
      {otherCode ? (
        <fieldset>
          <legend>The code of the calculation has changed since this run</legend>
          <label class="check">
            <input
              type="radio"
              name="redo"
              checked={redo === "recompute"}
              onChange={() => setRedo("recompute")}
            />
            <span>Compute everything again with the new code, under a new plan.</span>
          </label>
          <label class="check">
            <input type="radio" name="redo" checked={redo === "mix"} onChange={() => setRedo("mix")} />
            <span>Compute only what is missing, and fold partials of both codes. The result says so.</span>
          </label>
        </fieldset>
      ) : null}
    </Dialog>
  );
}

const isOtherCode = (error: unknown): boolean => error instanceof ApiError && error.code === "other-code";
