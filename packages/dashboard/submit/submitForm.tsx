import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../client/request.ts";
import type { Run } from "../../client/run.ts";
import { client, useDoing } from "../data/hooks.ts";
import { CopyButton } from "../parts/copyButton.tsx";
import { Notice, Panel } from "../parts/parts.tsx";
import { hashOf } from "../route.ts";
import { submitCommand, submitCurl } from "../run/commands.ts";
import { FieldRow } from "./fieldRow.tsx";
import { emptyForm, type FormState, issuesOf, requestOf, withField, withJson } from "./form.ts";
import { JsonField } from "./jsonField.tsx";
import { OptionsPanel } from "./optionsPanel.tsx";
import { PlanPanel } from "./planPanel.tsx";
import { type Calculation, type Field, fieldsOf } from "./schema.ts";

/** The form and the JSON of a request, the plan beside them, and what the app says of it. */
export function SubmitForm(of: {
  readonly known: readonly Calculation[];
  readonly first: FormState;
}): JSX.Element {
  const [state, setState] = useState(of.first);
  // What is missing is told when somebody tries to go on without it.
  const [tried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const sending = useDoing<Run>();
  const chosen = of.known.find(({ name }) => name === state.calculation);
  const issues = issuesOf(state, chosen?.schema);
  const ready = chosen !== undefined && state.draft === undefined && issues.size === 0;
  const request = requestOf(state);
  const { now } = sending;
  // An error of the app names its field; the next edit outdates it.
  useEffect(() => sending.reset(), [state]);
  const refused = now.kind === "failed" && now.error instanceof ApiError ? now.error : undefined;
  useEffect(() => {
    if (tried || refused !== undefined)
      form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [tried, refused]);
  const submit = async (): Promise<void> => {
    setTried(true);
    if (!ready) return;
    const { calculation, params, ...options } = request;
    const sent = await sending.start((signal) => client.submit(calculation, params, { ...options, signal }));
    if (sent !== undefined) location.hash = hashOf({ view: "run", run: sent.id });
  };
  const shown = new Map(
    [...issues].filter(([name]) => tried || name in state.params || name.startsWith("option ")),
  );
  if (refused?.field !== undefined) shown.set(refused.field, refused.message);
  return (
    <form
      ref={form}
      class="columns submit"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div class="main">
        <Parameters of={{ state, setState, known: of.known, chosen, issues: shown }} />
        <OptionsPanel
          state={state}
          issues={shown}
          onEdit={(name, text) => setState((old) => ({ ...old, options: { ...old.options, [name]: text } }))}
        />
        {now.kind === "failed" ? (
          <Notice tone="bad" title="Not submitted">
            {now.text}
          </Notice>
        ) : null}
        <div class="row">
          <button type="submit" class="primary" aria-disabled={now.kind === "busy"}>
            {now.kind === "busy" ? "Submitting …" : "Submit"}
          </button>
          <CopyButton
            text={submitCommand(state.calculation, state.params)}
            label="Copy as CLI"
            what="the submit command"
          />
          <CopyButton
            text={submitCurl(state.calculation, state.params, document.baseURI)}
            label="Copy as curl"
            what="the curl command"
          />
        </div>
      </div>
      <div class="side">
        <PlanPanel request={request} ready={ready} onMissing={() => setTried(true)} />
      </div>
    </form>
  );
}

interface ParametersOf {
  readonly state: FormState;
  readonly setState: (next: (old: FormState) => FormState) => void;
  readonly known: readonly Calculation[];
  readonly chosen: Calculation | undefined;
  readonly issues: ReadonlyMap<string, string>;
}

function Parameters({ of }: { readonly of: ParametersOf }): JSX.Element {
  const { state, setState, known, chosen, issues } = of;
  const [asJson, setAsJson] = useState(false);
  const fields = fieldsOf(chosen?.schema);
  const toggle = (
    <button type="button" class="quiet" aria-pressed={asJson} onClick={() => setAsJson(!asJson)}>
      {asJson ? "As a form" : "As JSON"}
    </button>
  );
  return (
    <Panel title="Parameters" aside={toggle}>
      <label class="field">
        <span>Calculation</span>
        <select
          value={state.calculation}
          onChange={({ currentTarget }) => setState(() => emptyForm(currentTarget.value))}
        >
          {chosen === undefined ? (
            <option value={state.calculation}>{state.calculation} (not known here)</option>
          ) : null}
          {known.map(({ name, summary }) => (
            <option key={name} value={name}>
              {name === state.calculation ? name : `${name}: ${summary}`}
            </option>
          ))}
        </select>
      </label>
      <p class="help">{chosen?.summary}</p>
      {asJson ? (
        <JsonField state={state} onEdit={(text) => setState((old) => withJson(old, text))} />
      ) : (
        <div class="fields">
          {fields.map((field) => (
            <FieldRow
              key={`${state.calculation} ${field.name}`}
              field={field}
              state={state}
              issue={issues.get(field.name)}
              onEdit={(one, text) => setState((old) => withField(old, one, text))}
            />
          ))}
          {fields.length === 0 ? <p class="dim">This calculation has no parameters.</p> : null}
        </div>
      )}
      <Others fields={asJson ? [] : fields} issues={issues} />
    </Panel>
  );
}

/** Issues that stand at no field: of names that the calculation does not have, and all of them beside the JSON. */
function Others(of: {
  readonly fields: readonly Field[];
  readonly issues: ReadonlyMap<string, string>;
}): JSX.Element | null {
  const atField = new Set(of.fields.map(({ name }) => name));
  const others = [...of.issues].filter(([name]) => !atField.has(name) && !name.startsWith("option "));
  if (others.length === 0) return null;
  return <Notice tone="bad">{others.map(([name, issue]) => `${name} ${issue}`).join("; ")}</Notice>;
}
