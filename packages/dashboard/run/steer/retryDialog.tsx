import type { JSX } from "preact";
import { Dialog } from "../../parts/dialog.tsx";
import { type DialogPorts, retryButton, retryText } from "./steering.ts";
import { useVerb } from "./useVerb.ts";

/** Says what a retry will compute. */
export function RetryDialog({ view, onClose, onDone }: DialogPorts): JSX.Element {
  const { now, send } = useVerb(view, onDone);
  const retry = () => send("retry", "Retry asked; a leader will begin it");
  return (
    <Dialog title={`Retry ${view.run}?`} act={retryButton(view)} now={now} onAct={retry} onClose={onClose}>
      <p>{retryText(view)}</p>
    </Dialog>
  );
}
