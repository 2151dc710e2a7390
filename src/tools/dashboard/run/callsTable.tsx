import type { JSX } from "preact";
import type { RunEstimate } from "../../../engine/client/estimate/estimateRun.ts";
import type { RunView } from "../../../engine/client/runView.ts";
import { billingClasses, totalCalls } from "../../../engine/model/calls.ts";
import { count, dollars } from "../../../engine/model/figures.ts";
import { Head } from "../parts/parts.tsx";

/** Storage calls by billing class and their list price so far, beside the plan where one is given. */
export function CallsTable(of: {
  readonly view: RunView;
  readonly plan?: RunEstimate | undefined;
}): JSX.Element {
  const { view, plan } = of;
  return (
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
  );
}
