import type { JSX } from "preact";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { CopyButton } from "../parts/copyButton.tsx";
import { Panel } from "../parts/parts.tsx";
import { hashOf } from "../route.ts";
import { resultCommand, submitCommand, submitCurl, watchCommand } from "./commands.ts";
import { RequestFacts } from "./requestFacts.tsx";

/** What was asked for, and how to ask for it again: on this page, in a terminal or over HTTP. */
export function RequestPanel(of: { readonly view: RunView; readonly readOnly: boolean }): JSX.Element {
  const { view, readOnly } = of;
  const { calculation, params } = view;
  const again = readOnly ? null : (
    <a class="quiet" href={hashOf({ view: "submit", from: view.run })}>
      Use for a new run
    </a>
  );
  return (
    <Panel title="Request" aside={again}>
      <RequestFacts view={view} />
      <div class="row copies">
        <CopyButton text={submitCommand(calculation, params)} label="Copy as CLI" what="the submit command" />
        <CopyButton
          text={submitCurl(calculation, params, document.baseURI)}
          label="Copy as curl"
          what="the curl command"
        />
        <CopyButton text={watchCommand(view)} label="Copy watch command" what="the watch command" />
        {view.result === undefined ? null : (
          <CopyButton text={resultCommand(view)} label="Copy result command" what="the result command" />
        )}
      </div>
    </Panel>
  );
}
