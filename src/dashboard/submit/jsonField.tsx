import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type FormState, jsonOf } from "./form.ts";

/** The parameters as JSON, which is the same state as the form. */
export function JsonField({
  state,
  onEdit,
}: {
  readonly state: FormState;
  readonly onEdit: (text: string) => void;
}): JSX.Element {
  const [typed, setTyped] = useState<string>();
  const text = jsonOf(state);
  // What was typed stays as it was typed while it means the same.
  const shown = typed !== undefined && meansSame(typed, text) ? typed : text;
  return (
    <label class="field">
      <span>Parameters as JSON</span>
      <textarea
        rows={12}
        spellcheck={false}
        aria-invalid={state.draft !== undefined}
        value={shown}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          onEdit(currentTarget.value);
        }}
      />
      {state.draft === undefined ? null : <span class="issue">{state.draft.issue}</span>}
    </label>
  );
}

function meansSame(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));
  } catch {
    return false;
  }
}
