import type { JSX } from "preact";
import type { RunView } from "../../../../src/engine/client/runView.ts";
import { bytes as bytesText, count } from "../../../../src/engine/model/figures.ts";
import { rangesText } from "../../../../src/engine/model/packs.ts";
import { Facts } from "../../parts/parts.tsx";
import { rangesShown } from "../failures/failureGroups.ts";

/** What a result is, and what it was made of. */
export const ResultFacts = (of: {
  readonly result: NonNullable<RunView["result"]>;
  readonly hash: JSX.Element;
}): JSX.Element => {
  const { result } = of;
  return (
    <Facts
      rows={[
        ["type", result.contentType],
        ["size", bytesText(result.bytes)],
        ["SHA-256", of.hash],
        ["chunks", `${count(result.folded)} folded${result.complete ? ", complete" : ""}`],
        ["missing", result.complete ? undefined : `chunks ${rangesText(result.missing, rangesShown)}`],
        ["notes", result.notes?.join("; ")],
        [
          "code",
          result.mixed === true ? `several versions, as a retry asked: ${result.code.length}` : undefined,
        ],
      ]}
    />
  );
};
