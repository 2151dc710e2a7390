import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { type FormState, jsonOf } from "./form.ts";

/** The parameters as JSON, which is the same state as the form. */
export function JsonField(of: {
  readonly state: FormState;
  readonly onEdit: (text: string) => void;
}): JSX.Element {
  const { state, onEdit } = of;
  const [typed, setTyped] = useState<string>();
  const id = useId();
  const text = jsonOf(state);
  // What was typed stays as it was typed while it means the same.
  const shown = typed !== undefined && meansSame(typed, text) ? typed : text;
  return (
    <div class="field">
      <label for={id}>Parameters as JSON</label>
      <textarea
        id={id}
        aria-describedby={`${id}-issue`}
        rows={12}
        spellcheck={false}
        aria-invalid={state.draft !== undefined}
        value={shown}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          onEdit(currentTarget.value);
        }}
      />
      <p class="issue" id={`${id}-issue`}>
        {state.draft?.issue}
      </p>
    </div>
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
