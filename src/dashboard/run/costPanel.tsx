import type { JSX } from "preact";
import type { RunEstimate } from "../../client/estimate/estimateRun.ts";
import type { RunView } from "../../client/runView.ts";
import { billingClasses, totalCalls } from "../../model/calls.ts";
import { count, dollars, percent } from "../../model/figures.ts";
import { api, useDoing } from "../data/hooks.ts";
import { Head, Notice, Panel } from "../parts/parts.tsx";

/** Storage calls by billing class and their list price so far, against the plan on request. */
export function CostPanel(of: { readonly view: RunView; readonly readOnly: boolean }): JSX.Element {
  const { view, readOnly } = of;
  const planning = useDoing<RunEstimate>();
  const { now } = planning;
  const plan = now.kind === "done" ? now.value : undefined;
  const body = { calculation: view.calculation, params: view.params };
  const estimate = () =>
    planning.start((signal) => api.json<RunEstimate>("plan", { method: "POST", body, signal }));
  return (
    <Panel title="Calls and cost" aside={<span class="dim">list prices</span>}>
      <table class="list compact">
        <Head
          columns={["Class", "So far", ...(plan === undefined ? [] : ["Plan"])]}
          isNumber={(at) => at > 0}
        />
        <tbody>
          {billingClasses.map((one) => (
            <tr key={one}>
              <th scope="row">{one}</th>
              <td class="number">{count(view.calls[one])}</td>
              {plan === undefined ? null : <td class="number">{count(plan.calls.total[one])}</td>}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Calls</th>
            <td class="number">{count(totalCalls(view.calls))}</td>
            {plan === undefined ? null : <td class="number">{count(totalCalls(plan.calls.total))}</td>}
          </tr>
          <tr>
            <th scope="row">Dollars</th>
            <td class="number">{dollars(view.dollars)}</td>
            {plan === undefined ? null : <td class="number">{dollars(plan.dollars)}</td>}
          </tr>
        </tfoot>
      </table>
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
