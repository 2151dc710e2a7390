import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DocumentOutcome } from "../../../../src/engine/client/questions/checkDocuments.ts";
import type { Verification } from "../../../../src/engine/client/questions/verify.ts";
import { count, countOf, olderText, sentence } from "../../../../src/engine/model/figures.ts";
import { rangeText } from "../../../../src/engine/model/packs.ts";
import { client, useDoing } from "../../data/hooks.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Facts, Notice } from "../../parts/parts.tsx";
import { type DialogPorts, wordsOf } from "./steering.ts";

export function VerifyDialog({ view, onClose }: DialogPorts): JSX.Element {
  const [sample, setSample] = useState("1%");
  const checking = useDoing<Verification>();
  const { now } = checking;
  const send = () => checking.start((signal) => client.run(view.run).verify({ sample, signal }));
  return (
    <Dialog
      title={`Verify ${view.run}`}
      act={now.kind === "done" ? "Verify another sample" : "Verify"}
      now={now}
      onAct={() => void send()}
      onClose={onClose}
    >
      <p>{wordsOf("verify", view)}</p>
      <label class="field">
        <span>Sample: a share such as 1%, or a number of packs</span>
        <input
          required
          pattern="[0-9]+(\.[0-9]+)?%?"
          value={sample}
          onInput={(event) => setSample(event.currentTarget.value)}
        />
      </label>
      {now.kind === "busy" ? (
        <Notice tone="run">Workers compute the sample again; this may take minutes.</Notice>
      ) : null}
      {now.kind === "done" ? <Outcome found={now.value} /> : null}
    </Dialog>
  );
}

const documentWords: Readonly<Record<DocumentOutcome, string>> = {
  equal: "as recorded",
  different: "DIFFERS from what was recorded",
  none: "",
};

function Outcome({ found }: { readonly found: Verification }): JSX.Element {
  const { packs, others, result, documents, allEqual } = found;
  const title = allEqual ? "All equal" : "Not all are equal";
  const older = found.newest && olderText({ ...found.newest, result: found });
  return (
    <>
      <Notice tone={allEqual ? "ok" : "bad"} title={title}>
        {`${count(packs.equal)} of ${countOf(packs.drawn, "pack")} gave the same bytes again.`}
      </Notice>
      {older === undefined ? null : <Notice tone="warn">{sentence(older)}</Notice>}
      <Facts
        rows={[
          ["result", result.equal ? "its bytes match the manifest" : "its bytes DIFFER from the manifest"],
          ...Object.entries(documents)
            .filter(([, outcome]) => outcome !== "none")
            .map(
              ([name, outcome]) =>
                [name === "inputs" ? "list of inputs" : name, documentWords[outcome]] as const,
            ),
          ...(["different", "failed", "unanswered", "not-folded"] as const)
            .filter((name) => packs[name] > 0)
            .map((name) => [name.replace("-", " "), count(packs[name])] as const),
        ]}
      />
      {others.slice(0, 20).map(({ pack, chunks, outcome, error }) => (
        <p key={pack} class="small">
          {`pack ${pack} (chunks ${rangeText(chunks)}): ${outcome}${error === undefined ? "" : `, ${error.message}`}`}
        </p>
      ))}
    </>
  );
}
