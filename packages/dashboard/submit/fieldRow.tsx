import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { optionOf } from "../../../src/engine/model/json.ts";
import { type FormState, textOf } from "./form.ts";
import type { Field } from "./schema.ts";
import { type InputOf, SourceInput, TextInput } from "./textInput.tsx";

/** One parameter: its name, its bounds and help, the default as a placeholder, and what is wrong with its value. */
export function FieldRow(of: {
  readonly field: Field;
  readonly state: FormState;
  readonly issue: string | undefined;
  readonly onEdit: (field: Field, text: string) => void;
}): JSX.Element {
  const { field, state, issue, onEdit } = of;
  const { choices } = field;
  const id = useId();
  const value = state.params[field.name];
  const waits = state.draft !== undefined;
  const described = [`${id}-help`, ...(issue === undefined ? [] : [`${id}-issue`])].join(" ");
  const shared: InputOf["shared"] = {
    id,
    disabled: waits,
    "aria-describedby": described,
    "aria-invalid": issue !== undefined,
  };
  return (
    <div class="field">
      <label for={id}>
        {optionOf(field.name)}
        {field.required ? <span class="dim"> required</span> : null}
      </label>
      {field.name === "source" ? (
        <SourceInput shared={shared} field={field} value={value} onEdit={onEdit} />
      ) : choices === undefined ? (
        <TextInput shared={shared} field={field} value={value} onEdit={onEdit} />
      ) : (
        <select
          {...shared}
          value={textOf(field, value)}
          onChange={({ currentTarget }) => onEdit(field, currentTarget.value)}
        >
          <option value="">{defaultText(field)}</option>
          {choices.map((one) => (
            <option key={String(one)} value={String(one)}>
              {String(one)}
            </option>
          ))}
        </select>
      )}
      <p class="help" id={`${id}-help`}>
        {[field.help, field.bounds ?? ""].filter((text) => text !== "").join("; ")}
      </p>
      {issue === undefined ? null : (
        <p class="issue" id={`${id}-issue`}>
          {issue}
        </p>
      )}
    </div>
  );
}

const defaultText = (field: Field): string =>
  field.default === undefined ? "choose …" : `${textOf(field, field.default)} (default)`;
