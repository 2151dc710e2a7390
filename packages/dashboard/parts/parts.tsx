import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

/** A section with a heading; `aside` stands beside it. */
export function Panel(of: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <section class={`panel ${of.class ?? ""}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{of.title}</h2>
        <div class="aside">{of.aside}</div>
      </header>
      {of.children}
    </section>
  );
}

/** Names and values in two aligned columns; rows without a value are left out. */
export function Facts(of: { readonly rows: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  const { rows } = of;
  return (
    <dl class="facts">
      {rows.map(([name, value]) =>
        value === undefined || value === null || value === false ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** A message in words: an error interrupts a reader, anything else waits. */
export function Notice(of: {
  readonly tone: "bad" | "warn" | "run" | "ok";
  readonly title?: string | undefined;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`notice tone-${of.tone}`} role={of.tone === "bad" ? "alert" : "status"}>
      {of.title === undefined ? null : <strong>{of.title}</strong>}
      {of.children === undefined ? null : <div>{of.children}</div>}
    </div>
  );
}

export function Empty(of: { readonly title: string; readonly children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="title">{of.title}</p>
      {of.children}
    </div>
  );
}

/** Shares of 0 to 1, in order: what is done and what has failed. */
export function Bar(of: {
  readonly done: number;
  readonly failed: number;
  /** Of a run that ended without a result: what is done is no success. */
  readonly stopped?: boolean;
  readonly label: string;
  readonly text: string;
}): JSX.Element {
  const percent = (share: number) => `${Math.min(Math.max(share, 0), 1) * 100}%`;
  return (
    <div
      class={of.stopped === true ? "bar stopped" : "bar"}
      role="progressbar"
      aria-label={of.label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor((of.done + of.failed) * 100)}
      aria-valuetext={of.text}
    >
      <span class="done" style={{ width: percent(of.done) }} />
      <span class="failed" style={{ width: percent(of.failed) }} />
    </div>
  );
}

/** The header of a table; columns of numbers stand at the right. */
export function Head(of: {
  readonly columns: readonly ComponentChildren[];
  readonly isNumber?: (index: number) => boolean;
}): JSX.Element {
  return (
    <thead>
      <tr>
        {of.columns.map((column, index) => (
          <th key={index} scope="col" class={of.isNumber?.(index) === true ? "number" : undefined}>
            {column}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** A scrolling region that the keyboard reaches, as a wide table on a phone needs. */
export function Scroll(of: { readonly label: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="scroll" aria-label={of.label} tabIndex={0}>
      {of.children}
    </section>
  );
}
