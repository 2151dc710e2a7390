import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunView } from "../../../../src/engine/client/runView.ts";
import { announce } from "../../parts/announce.tsx";
import { Notice } from "../../parts/parts.tsx";
import { CancelDialog, CapDialog, DeleteDialog } from "./dialogs.tsx";
import { RetryDialog } from "./retryDialog.tsx";
import { type DialogPorts, type Verb, verbsOf, verbText } from "./steering.ts";
import { useVerb } from "./useVerb.ts";
import { VerifyDialog } from "./verifyDialog.tsx";

/** The controls of a run. Pausing and resuming destroy nothing and ask nothing; all others say first what they will do. */
export function Controls(of: { readonly view: RunView; readonly refresh: () => void }): JSX.Element {
  const { view, refresh } = of;
  const [open, setOpen] = useState<Verb>();
  const onDone = (text: string): void => {
    setOpen(undefined);
    announce(text);
    refresh();
  };
  const { now, send } = useVerb(view, onDone);
  const press = (verb: Verb): void => {
    if (verb !== "pause" && verb !== "resume") setOpen(verb);
    else void send(verb, `${verbText[verb]} asked; a leader will answer`);
  };
  const ports: DialogPorts = { view, onClose: () => setOpen(undefined), onDone };
  return (
    <>
      <div class="controls" role="toolbar" aria-label="Controls of the run">
        {verbsOf(view).map((verb) => (
          <button
            key={verb}
            type="button"
            class={verb === "delete" ? "destroys" : ""}
            title={hints[verb]}
            onClick={() => press(verb)}
          >
            {verbText[verb]}
            {verb === "pause" || verb === "resume" ? "" : " …"}
          </button>
        ))}
      </div>
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
      {open === "cap" ? <CapDialog {...ports} /> : null}
      {open === "cancel" ? <CancelDialog {...ports} /> : null}
      {open === "delete" ? <DeleteDialog {...ports} /> : null}
      {open === "retry" ? <RetryDialog {...ports} /> : null}
      {open === "verify" ? <VerifyDialog {...ports} /> : null}
    </>
  );
}

const hints: Readonly<Record<Verb, string>> = {
  pause: "sends no more packs; those in flight finish, and nothing is lost",
  resume: "sends packs again",
  cap: "limits the packs in flight",
  cancel: "ends the run before it is done",
  retry: "computes what has no partial",
  verify: "computes a sample again and compares",
  delete: "deletes the run and all it stored",
};
