import type { ComponentChildren, JSX } from "preact";
import type { RunView } from "../../client/runView.ts";
import { deadlineEnd, timeText } from "../../model/figures.ts";
import { valueText } from "../../model/json.ts";
import { CopyButton } from "../parts/copyButton.tsx";
import { Facts, Panel } from "../parts/parts.tsx";
import { hashOf } from "../route.ts";
import { resultCommand, statusCommand, submitCommand, submitCurl } from "./commands.ts";

/** What was asked for, and how to ask for it again: on this page, in a terminal or over HTTP. */
export function RequestPanel(of: { readonly view: RunView; readonly readOnly: boolean }): JSX.Element {
  const { view, readOnly } = of;
  const { calculation, params, code, deadline, cap } = view;
  const rows = Object.entries(typeof params === "object" && params !== null ? params : {});
  const again = readOnly ? null : (
    <a class="quiet" href={hashOf({ view: "submit", from: view.run })}>
      Use for a new run
    </a>
  );
  return (
    <Panel title="Request" aside={again}>
      <Facts
        rows={[
          ["calculation", calculation],
          ...rows.map(([name, value]): readonly [string, ComponentChildren] => [
            name,
            value === "" ? <span class="dim">empty</span> : valueText(value),
          ]),
        ]}
      />
      <Facts
        rows={[
          [
            "code",
            code === undefined ? undefined : (
              <code key="code" title={code}>
                {shortCode(code)}
              </code>
            ),
          ],
          [
            "cap",
            view.active && cap !== undefined ? `${cap.toLocaleString("en-US")} packs in flight` : undefined,
          ],
          [
            "deadline",
            deadline === undefined ? undefined : `${timeText(deadline.at)}, then ${deadlineEnd(view)}`,
          ],
          ["uid", <code key="uid">{view.uid}</code>],
        ]}
      />
      <div class="row copies">
        <CopyButton text={submitCommand(calculation, params)} label="Copy as CLI" what="the submit command" />
        <CopyButton
          text={submitCurl(calculation, params, document.baseURI)}
          label="Copy as curl"
          what="the curl command"
        />
        <CopyButton text={statusCommand(view)} label="Copy status command" what="the status command" />
        {view.result === undefined ? null : (
          <CopyButton text={resultCommand(view)} label="Copy result command" what="the result command" />
        )}
      </div>
    </Panel>
  );
}

/** `name/1.0/abcdef012345…`: the whole identity is in the title. */
const shortCode = (code: string): string => (code.length > 28 ? `${code.slice(0, 28)}…` : code);
