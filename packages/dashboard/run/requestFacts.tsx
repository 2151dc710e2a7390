import type { ComponentChildren, JSX } from "preact";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { deadlineEnd, tagsText, timeText } from "../../../src/engine/model/figures.ts";
import { valueText } from "../../../src/engine/model/json.ts";
import { Facts } from "../parts/parts.tsx";

/** What was asked for. */
export function RequestFacts({ view }: { readonly view: RunView }): JSX.Element {
  const { calculation, params, code, deadline, cap, priority, tags, submittedBy, command } = view;
  const rows = Object.entries(typeof params === "object" && params !== null ? params : {});
  return (
    <>
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
          ["tags", tags && tagsText(tags)],
          ["priority", priority],
          ["submitted by", submittedBy],
          ["last command by", command?.by],
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
    </>
  );
}

/** `name/1.0/abcdef012345…`: the whole identity is in the title. */
const shortCode = (code: string): string => (code.length > 28 ? `${code.slice(0, 28)}…` : code);
