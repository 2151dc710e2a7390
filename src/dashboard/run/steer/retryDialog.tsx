import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../data/api.ts";
import { api, useDoing } from "../../data/hooks.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { type DialogPorts, pathOf, requestOf, retryButton, retryText } from "./steering.ts";

type Redo = "recompute" | "mix";

/** Says what a retry will compute. If the code has changed since, the person decides what that means. */
export function RetryDialog({ view, onClose, onDone }: DialogPorts): JSX.Element {
  const [redo, setRedo] = useState<Redo>();
  const sending = useDoing<unknown>();
  const { now } = sending;
  const otherCode = redo !== undefined || (now.kind === "failed" && isOtherCode(now.error));
  const send = async (): Promise<void> => {
    const { suffix, asked } = requestOf("retry", redo === undefined ? {} : { redo });
    const sent = await sending.start((signal) =>
      api.ask(`${pathOf(view.run)}${suffix}`, { ...asked, signal }),
    );
    if (sent !== undefined) onDone("Retry asked; a leader will begin it");
  };
  const act = redo === "recompute" ? "Compute everything again" : retryButton(view);
  return (
    <Dialog title={`Retry ${view.run}?`} act={act} now={now} onAct={() => void send()} onClose={onClose}>
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
