import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { type FormState, textOf } from "./form.ts";
import type { Field } from "./schema.ts";

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
  const shared: Shared = {
    id,
    disabled: waits,
    "aria-describedby": described,
    "aria-invalid": issue !== undefined,
  };
  return (
    <div class="field">
      <label for={id}>
        {field.name}
        {field.required ? <span class="dim"> required</span> : null}
      </label>
      {choices === undefined ? (
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

interface Shared {
  readonly id: string;
  readonly disabled: boolean;
  readonly "aria-describedby": string;
  readonly "aria-invalid": boolean;
}

function TextInput(of: {
  readonly shared: Shared;
  readonly field: Field;
  readonly value: unknown;
  readonly onEdit: (field: Field, text: string) => void;
}): JSX.Element {
  const { shared, field, value, onEdit } = of;
  const [typed, setTyped] = useState<string>();
  const numeric = field.kind === "integer" || field.kind === "number";
  return (
    <input
      {...shared}
      type="text"
      autocomplete="off"
      spellcheck={false}
      {...(numeric ? { inputMode: "decimal" as const } : {})}
      placeholder={field.default === undefined ? "" : textOf(field, field.default)}
      value={textOf(field, value, typed)}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onEdit(field, currentTarget.value);
      }}
    />
  );
}

const defaultText = (field: Field): string =>
  field.default === undefined ? "choose …" : `${textOf(field, field.default)} (default)`;
