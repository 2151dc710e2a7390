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
  priority: "high, normal or low: its part of the workers beside other runs",
  maxCost: "dollars: the run pauses before it costs more by the estimate",
  tolerate: "chunks that may fail: 10 or 1%",
  packLimit: "limit of one attempt, such as 30s; that of the app holds if it is less",
  attempts: "how often to try a chunk that throws",
  retryAfter: "pauses between these, such as 5s,30s,2m",
  deadline: "2h: the run fails if it takes longer",
  keep: "at its deadline the run finishes with what is done",
  reuse: "id of an ended run whose partials are copied where they are the same",
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
        {(Object.entries(optionTexts) as [OptionName, string][]).map(([name, help]) => {
          const { [name]: text = "" } = of.state.options;
          const issue = of.issues.get(optionKey(name));
          const own = {
            id: `${id}-${name}`,
            "aria-describedby": `${id}-${name}-help`,
            "aria-invalid": issue !== undefined,
          };
          return (
            <div key={name} class="field">
              <label for={own.id}>{optionOf(name)}</label>
              {name === "keep" ? (
                <input
                  type="checkbox"
                  {...own}
                  checked={text !== ""}
                  onChange={({ currentTarget }) => of.onEdit(name, currentTarget.checked ? "true" : "")}
                />
              ) : (
                <input
                  {...own}
                  autocomplete="off"
                  spellcheck={false}
                  value={text}
                  onInput={({ currentTarget }) => of.onEdit(name, currentTarget.value)}
                />
              )}
              <p id={own["aria-describedby"]} class={issue === undefined ? "help" : "issue"}>
                {issue ?? help}
              </p>
            </div>
          );
        })}
      </div>
    </details>
  );
}
