import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Doing } from "../data/hooks.ts";
import { Notice } from "./parts.tsx";

/**
 * A question before something is done: what it will do, in words, and two buttons. The browser keeps the focus inside,
 * closes it with Escape, and gives the focus back.
 */
export function Dialog(of: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly act: string;
  readonly destroys?: boolean;
  readonly now: Doing<unknown>;
  readonly onAct: () => void;
  readonly onClose: () => void;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const busy = of.now.kind === "busy";
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        of.onClose();
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy) of.onAct();
        }}
      >
        <h2 id={id}>{of.title}</h2>
        <div class="words">{of.children}</div>
        {of.now.kind === "failed" ? <Notice tone="bad">{of.now.text}</Notice> : null}
        <div class="buttons">
          <button type="button" onClick={of.onClose}>
            Back
          </button>
          <button type="submit" class={of.destroys === true ? "destroys" : "primary"} aria-disabled={busy}>
            {busy ? "Asking …" : of.act}
          </button>
        </div>
      </form>
    </dialog>
  );
}
