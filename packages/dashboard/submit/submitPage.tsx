import type { JSX } from "preact";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { usePoll } from "../data/hooks.ts";
import { Empty } from "../parts/parts.tsx";
import { Stale } from "../parts/stale.tsx";
import type { Route } from "../route.ts";
import { pathOf } from "../run/steer/steering.ts";
import { emptyForm } from "./form.ts";
import type { Calculation } from "./schema.ts";
import { SubmitForm } from "./submitForm.tsx";

/** A new run: parameters as a form or as JSON, the plan beside them. */
export function SubmitPage(of: {
  readonly route: Extract<Route, { readonly view: "submit" }>;
  readonly readOnly: boolean | undefined;
}): JSX.Element {
  const { from } = of.route;
  const polled = usePoll<{ readonly calculations: readonly Calculation[] }>("calculations", () => undefined);
  const source = usePoll<RunView>(from === undefined ? undefined : pathOf(from), () => undefined);
  const known = polled.value?.calculations;
  const ready =
    of.readOnly === false && known !== undefined && (from === undefined || source.value !== undefined);
  return (
    <>
      <div class="title-row">
        <h1 tabIndex={-1}>New run</h1>
      </div>
      {of.readOnly === true ? (
        <Empty title="This page is read-only">
          <p>Submit with the CLI, or open the page of an app that is not read-only.</p>
        </Empty>
      ) : null}
      <Stale polled={polled} />
      <Stale polled={source} />
      {ready ? (
        <SubmitForm
          key={from ?? of.route.calculation ?? ""}
          known={known}
          first={
            source.value === undefined
              ? emptyForm(of.route.calculation ?? known[0]?.name ?? "")
              : emptyForm(source.value.calculation, source.value.params)
          }
        />
      ) : null}
    </>
  );
}
