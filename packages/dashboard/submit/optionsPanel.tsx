import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { optionOf } from "../../../src/engine/model/json.ts";
import { type FormState, type OptionName, optionKey } from "./form.ts";

/** What `leasefold submit` has options for, besides the parameters. */
const optionTexts: Readonly<Record<OptionName, string>> = {
  id: "id of the run; submitting the same request with it again starts no second run",
  packSize: "chunks per pack, instead of what planning measures",
  workers: "packs computed at once, instead of what instances tell",
  cap: "packs in flight at most",
  maxCost: "dollars: the run pauses before it costs more by the estimate",
  tolerate: "chunks that may fail: 10 or 1%",
  packLimit: "limit of one attempt, such as 30s; that of the app holds if it is less",
  attempts: "how often to try a chunk that throws",
  retryAfter: "pauses between these, such as 5s,30s,2m",
  deadline: "2h: the run fails if it takes longer",
  tag: "words about the run, such as team=risk",
};

export function OptionsPanel(of: {
  readonly state: FormState;
  readonly issues: ReadonlyMap<string, string>;
  readonly onEdit: (name: OptionName, text: string) => void;
}): JSX.Element {
  const id = useId();
  return (
    <details class="panel options">
      <summary>Options of the run</summary>
      <div class="fields">
        {(Object.entries(optionTexts) as [OptionName, string][]).map(([name, help]) => (
          <div key={name} class="field">
            <label for={`${id}-${name}`}>{optionOf(name)}</label>
            <input
              id={`${id}-${name}`}
              aria-describedby={`${id}-${name}-help`}
              autocomplete="off"
              spellcheck={false}
              aria-invalid={of.issues.has(optionKey(name))}
              value={of.state.options[name] ?? ""}
              onInput={({ currentTarget }) => of.onEdit(name, currentTarget.value)}
            />
            <p id={`${id}-${name}-help`} class={of.issues.has(optionKey(name)) ? "issue" : "help"}>
              {of.issues.get(optionKey(name)) ?? help}
            </p>
          </div>
        ))}
      </div>
    </details>
  );
}
