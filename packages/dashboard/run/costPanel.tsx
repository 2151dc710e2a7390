import type { JSX } from "preact";
import type { RunEstimate } from "../../../src/engine/client/estimate/estimateRun.ts";
import type { PlanRequest } from "../../../src/engine/client/estimate/planInThread.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { percent } from "../../../src/engine/model/figures.ts";
import { client, useDoing } from "../data/hooks.ts";
import { Notice, Panel } from "../parts/parts.tsx";
import { CallsTable } from "./callsTable.tsx";

/** Storage calls, instances and their list price so far, against the plan on request. */
export function CostPanel(of: { readonly view: RunView; readonly readOnly: boolean }): JSX.Element {
  const { view, readOnly } = of;
  const planning = useDoing<RunEstimate>();
  const { now } = planning;
  const plan = now.kind === "done" ? now.value : undefined;
  const body = { calculation: view.calculation, params: view.params as PlanRequest["params"] };
  const estimate = () => planning.start((signal) => client.plan(body, { signal }));
  return (
    <Panel title="Cost" aside={<span class="dim">estimate, list prices</span>}>
      <CallsTable view={view} plan={plan} />
      {plan === undefined || plan.dollars === 0 ? null : (
        <p class="dim">{`${percent(view.dollars, plan.dollars)} of the planned cost.`}</p>
      )}
      {plan !== undefined || readOnly ? null : (
        <button
          type="button"
          class="quiet"
          aria-disabled={now.kind === "busy"}
          onClick={() => void estimate()}
        >
          {now.kind === "busy" ? "Planning …" : "Compare with the plan"}
        </button>
      )}
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
    </Panel>
  );
}
