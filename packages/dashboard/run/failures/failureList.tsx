import type { JSX } from "preact";
import type { FailureGroup } from "../../../../src/engine/client/failureGroups.ts";
import type { Failures } from "../../../../src/engine/client/failures.ts";
import { countOf } from "../../../../src/engine/model/figures.ts";
import { groupText, tryingText } from "./failureGroups.ts";

/** Of so many kinds of errors, and of attempts that others follow, the first are listed. */
const groupsMax = 50;
const tryingMax = 10;

/** What failed, grouped by error, and what is still tried. */
export function FailureList(of: {
  readonly found: Failures;
  /** More about a group, where somebody can ask for it. */
  readonly more?: (group: FailureGroup) => JSX.Element | undefined;
}): JSX.Element {
  const { groups, trying } = of.found;
  const more = groups.length - groupsMax;
  return (
    <>
      <ul class="groups">
        {groups.slice(0, groupsMax).map((group) => (
          <li key={`${group.code} ${group.message}`}>
            <p class="message">{group.message}</p>
            <p class="dim">
              <code>{group.code}</code> {groupText(group)}
            </p>
            {group.sample === group.message ? null : (
              <details>
                <summary>Sample</summary>
                <pre class="code">{group.sample}</pre>
              </details>
            )}
            {of.more?.(group)}
          </li>
        ))}
      </ul>
      {more > 0 ? <p class="dim">{`${countOf(more, "more kind")} of errors`}</p> : null}
      {trying.length === 0 ? null : (
        <>
          <h3>Failed once, still tried</h3>
          <ul class="trying">
            {trying.slice(0, tryingMax).map((one) => (
              <li key={`${one.work} ${one.send}`}>{tryingText(one)}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
