import type { JSX } from "preact";
import type { RunEstimate } from "../../../src/engine/client/estimate/estimateRun.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { billingClasses, type CallCounts, totalCalls } from "../../../src/engine/model/calls.ts";
import { count, dollars, generationText } from "../../../src/engine/model/figures.ts";
import { Head } from "../parts/parts.tsx";

type Costed = Pick<RunView, "dollars" | "storageDollars" | "computeDollars" | "gbS" | "executions">;

const unknown = "not known";
const rows: readonly (readonly [name: string, text: (of: Costed, calls: CallCounts) => string])[] = [
  ["Dollars", (of) => dollars(of.dollars)],
  ["Compute", ({ computeDollars }) => (computeDollars === undefined ? unknown : dollars(computeDollars))],
  ["Storage", ({ storageDollars }) => dollars(storageDollars)],
  ["GB-seconds", ({ gbS }) => (gbS === undefined ? unknown : count(gbS))],
  ["Executions", ({ executions }) => (executions === undefined ? unknown : count(executions))],
  ["Calls", (_, calls) => count(totalCalls(calls))],
  ...billingClasses.map((one) => [one, (_: Costed, calls: CallCounts) => count(calls[one])] as const),
];

/** The list price so far and what it is made of, beside the plan where one is given; of each generation where there are several. */
export function CallsTable(of: {
  readonly view: RunView;
  readonly plan?: RunEstimate | undefined;
}): JSX.Element {
  const { view, plan } = of;
  const { generations = [], maxCost } = view;
  return (
    <>
      <table class="list compact">
        <Head columns={["", "So far", ...(plan === undefined ? [] : ["Plan"])]} isNumber={(at) => at > 0} />
        <tbody>
          {rows.map(([name, text]) => (
            <tr key={name} class={name === "Dollars" || name === "Calls" ? "sum" : ""}>
              <th scope="row">{name}</th>
              <td class="number">{text(view, view.calls)}</td>
              {plan === undefined ? null : <td class="number">{text(plan, plan.calls.total)}</td>}
            </tr>
          ))}
          {maxCost === undefined ? null : (
            <tr>
              <th scope="row">Max cost</th>
              <td class="number">{dollars(maxCost)}</td>
              {plan === undefined ? null : <td />}
            </tr>
          )}
        </tbody>
      </table>
      {generations.map((one) => (
        <p key={one.generation} class="dim">{`Generation ${generationText(one)}`}</p>
      ))}
    </>
  );
}
