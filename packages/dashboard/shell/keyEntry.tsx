import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { key } from "../data/hooks.ts";
import { Notice } from "../parts/parts.tsx";

/** Asks for the function key. It is sent as a header and stays in memory, or in this tab on request. */
export function KeyEntry({ refused }: { readonly refused: boolean }): JSX.Element {
  const [text, setText] = useState("");
  const [keep, setKeep] = useState(false);
  return (
    <form
      class="key-entry panel"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") key.set(text.trim(), keep);
      }}
    >
      <h1 tabIndex={-1}>Function key</h1>
      {refused ? (
        <Notice tone="bad">That key was refused. It may be of another app, or of an earlier start.</Notice>
      ) : null}
      <p class="dim">
        All data of this page needs the key of the app. It is sent as a header and never put into an address.
      </p>
      <label class="field">
        <span>Key</span>
        <input
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <label class="check">
        <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
        <span>Keep it for this tab (session storage), so that a reload does not ask again</span>
      </label>
      <button type="submit" class="primary">
        Open
      </button>
      <details>
        <summary>Where do I find it?</summary>
        <p>
          On your machine: <code>leasefold show key</code>. On Azure: the function app’s <em>App keys</em>, or{" "}
          <code>az functionapp keys list</code>.
        </p>
      </details>
    </form>
  );
}
