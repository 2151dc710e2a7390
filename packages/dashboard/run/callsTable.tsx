import type { JSX } from "preact";
import type { RunEstimate } from "../../../src/engine/client/estimate/estimateRun.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { billingClasses, totalCalls } from "../../../src/engine/model/calls.ts";
import { count, dollars, generationText } from "../../../src/engine/model/figures.ts";
import { Head } from "../parts/parts.tsx";

type Costed = Pick<RunView, "dollars" | "storageDollars" | "computeDollars" | "gbS" | "executions">;

const unknown = "not known";
const costRows: readonly (readonly [name: string, text: (of: Costed) => string])[] = [
  ["GB-seconds", ({ gbS }) => (gbS === undefined ? unknown : count(gbS))],
  ["Executions", ({ executions }) => (executions === undefined ? unknown : count(executions))],
  ["Storage", ({ storageDollars }) => dollars(storageDollars)],
  ["Compute", ({ computeDollars }) => (computeDollars === undefined ? unknown : dollars(computeDollars))],
  ["Dollars", (of) => dollars(of.dollars)],
];

/** Storage calls by billing class, instances, and their list price so far, beside the plan where one is given; of each generation where there are several. */
export function CallsTable(of: {
  readonly view: RunView;
  readonly plan?: RunEstimate | undefined;
}): JSX.Element {
  const { view, plan } = of;
  const { generations = [], maxCost } = view;
  return (
    <>
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
          {costRows.map(([name, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{text(view)}</td>
              {plan === undefined ? null : <td class="number">{text(plan)}</td>}
            </tr>
          ))}
          {maxCost === undefined ? null : (
            <tr>
              <th scope="row">Max cost</th>
              <td class="number">{dollars(maxCost)}</td>
              {plan === undefined ? null : <td />}
            </tr>
          )}
        </tfoot>
      </table>
      {generations.map((one) => (
        <p key={one.generation} class="dim">{`Generation ${generationText(one)}`}</p>
      ))}
    </>
  );
}
