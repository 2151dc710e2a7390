import type { JSX } from "preact";
import { type FormState, type OptionName, optionKey } from "./form.ts";

/** What `leasefold submit` has options for, besides the parameters. */
const optionTexts: Readonly<Record<OptionName, readonly [string, string]>> = {
  id: ["Id", "the same id and request again is the same run"],
  packSize: ["Chunks per pack", "instead of what planning measures"],
  cap: ["Cap", "packs in flight at most"],
  tolerate: ["Tolerate", "chunks that may fail: 10 or 1%"],
  packLimit: ["Limit of one attempt", "30s, below that of the app"],
  attempts: ["Attempts", "of a chunk that throws"],
  deadline: ["Deadline", "2h: the run fails if it takes longer"],
};

export function OptionsPanel(of: {
  readonly state: FormState;
  readonly issues: ReadonlyMap<string, string>;
  readonly onEdit: (name: OptionName, text: string) => void;
}): JSX.Element {
  return (
    <details class="panel options">
      <summary>Options of the run</summary>
      <div class="fields">
        {(Object.entries(optionTexts) as [OptionName, readonly [string, string]][]).map(
          ([name, [label, help]]) => (
            <label key={name} class="field">
              <span>{label}</span>
              <input
                autocomplete="off"
                spellcheck={false}
                aria-invalid={of.issues.has(optionKey(name))}
                value={of.state.options[name] ?? ""}
                onInput={({ currentTarget }) => of.onEdit(name, currentTarget.value)}
              />
              <span class={of.issues.has(optionKey(name)) ? "issue" : "help"}>
                {of.issues.get(optionKey(name)) ?? help}
              </span>
            </label>
          ),
        )}
      </div>
    </details>
  );
}
