import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Inputs } from "../../../src/engine/client/inputs.ts";
import { bytes, percent } from "../../../src/engine/model/figures.ts";
import { client, useDoing, usePoll } from "../data/hooks.ts";
import { Bar, Notice } from "../parts/parts.tsx";
import { textOf } from "./form.ts";
import type { Field } from "./schema.ts";

interface Shared {
  readonly id: string;
  readonly disabled: boolean;
  readonly "aria-describedby": string;
  readonly "aria-invalid": boolean;
}

export interface InputOf {
  readonly shared: Shared;
  readonly field: Field;
  readonly value: unknown;
  readonly onEdit: (field: Field, text: string) => void;
}

/** A value as text, or as a number. */
export function TextInput(of: InputOf & { readonly list?: string }): JSX.Element {
  const { shared, field, value, onEdit } = of;
  const [typed, setTyped] = useState<string>();
  const numeric = field.kind === "integer" || field.kind === "number";
  return (
    <input
      {...shared}
      type="text"
      {...(of.list === undefined ? {} : { list: of.list })}
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

/** Files to read: those that were uploaded are offered, and small ones can be uploaded here. */
export function SourceInput(of: InputOf): JSX.Element {
  const id = useId();
  const polled = usePoll<{ readonly uploads: readonly Inputs[] }>("uploads", () => undefined);
  const sending = useDoing<void>();
  const [sent, setSent] = useState({ bytes: 0, total: 0 });
  const { now } = sending;
  const send = (files: readonly File[]) =>
    sending.start(async (signal) => {
      const total = files.reduce((sum, { size }) => sum + size, 0);
      const folder = folderOf(new Date());
      let [done, source] = [0, ""];
      for (const file of files) {
        setSent({ bytes: done, total });
        ({ source } = await client.upload(`${folder}/${file.name}`, file, { signal }));
        done += file.size;
      }
      of.onEdit(of.field, files.length === 1 ? source : source.replace(/[^/]*$/, ""));
      polled.refresh();
    });
  const text = `${percent(sent.bytes, sent.total)} of ${bytes(sent.total)}`;
  return (
    <>
      <TextInput {...of} list={id} />
      <datalist id={id}>
        {polled.value?.uploads.map(({ source, files, bytes: size }) => (
          <option key={source} value={source}>{`${files} files, ${bytes(size)}`}</option>
        ))}
      </datalist>
      <label class="button upload">
        {now.kind === "busy" ? "Uploading …" : "Upload files …"}
        <input
          type="file"
          multiple
          class="visually-hidden"
          disabled={now.kind === "busy"}
          onChange={({ currentTarget }) => {
            const files = [...(currentTarget.files ?? [])];
            currentTarget.value = "";
            if (files.length > 0) void send(files);
          }}
        />
      </label>
      {now.kind === "busy" ? (
        <div class="progress">
          <Bar done={sent.total === 0 ? 0 : sent.bytes / sent.total} failed={0} label="Upload" text={text} />
          <span class="figure">{text}</span>
        </div>
      ) : null}
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
      <p class="help">
        At most 8 MiB a file; <code>leasefold upload</code> takes any size.
      </p>
    </>
  );
}

/** A folder of its own for each upload, so that nothing is ever replaced: `20261124-182200`. */
const folderOf = (now: Date): string =>
  now.toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
