import type { JSX } from "preact";
import type { RunEstimate } from "../../../src/engine/client/estimate/estimateRun.ts";
import type { RunRequest } from "../../../src/engine/client/runRequest.ts";
import { billingClasses } from "../../../src/engine/model/calls.ts";
import {
  count,
  countOf,
  dollars,
  duration,
  milliseconds,
  overMaxCost,
  prefixesText,
  sentence,
} from "../../../src/engine/model/figures.ts";
import { client, useDoing } from "../data/hooks.ts";
import { Facts, Notice, Panel } from "../parts/parts.tsx";

/** What the run would take and cost, before anything is paid. An edit outdates it. */
export function PlanPanel(of: {
  readonly request: RunRequest;
  readonly ready: boolean;
  readonly onMissing: () => void;
}): JSX.Element {
  const planning = useDoing<{ readonly of: string; readonly estimate: RunEstimate }>();
  const { now } = planning;
  const { calculation, params, packSize, workers, maxCost } = of.request;
  const body = { calculation, params, packSize, workers, maxCost };
  const key = JSON.stringify(body);
  const plan = () =>
    planning.start(async (signal) => ({
      of: key,
      estimate: await client.plan(body, { signal }),
    }));
  const outdated = now.kind === "done" && now.value.of !== key;
  return (
    <Panel title="Plan" class="plan">
      <p class="dim">
        Plans as a worker would and times a few chunks. Nothing is stored, and nothing is paid.
      </p>
      <button
        type="button"
        aria-disabled={now.kind === "busy"}
        onClick={() => (of.ready ? void plan() : of.onMissing())}
      >
        {now.kind === "busy" ? "Planning …" : outdated ? "Plan again" : "Plan"}
      </button>
      {now.kind === "failed" ? <Notice tone="bad">{now.text}</Notice> : null}
      {outdated ? <Notice tone="warn">The request has changed since this plan.</Notice> : null}
      {now.kind === "done" ? <Estimate found={now.value.estimate} /> : null}
    </Panel>
  );
}

function Estimate({ found }: { readonly found: RunEstimate }): JSX.Element {
  return (
    <>
      {found.failed === undefined ? null : (
        <Notice tone="bad" title="A timed chunk failed: the run would fail too">
          {found.failed}
        </Notice>
      )}
      {found.unmeasured === undefined ? (
        <Measured found={found} />
      ) : (
        <Notice tone="warn" title={`Nothing was measured: ${found.unmeasured}`}>
          There is no estimate of time and cost.
        </Notice>
      )}
    </>
  );
}

type Measured = Extract<RunEstimate, { readonly unmeasured?: undefined }>;

function Measured({ found }: { readonly found: Measured }): JSX.Element {
  const { calls } = found;
  const over = overMaxCost(found);
  return (
    <>
      {over === undefined ? null : <Notice tone="warn">{sentence(over)}</Notice>}
      <dl class="figures small">
        <div>
          <dt>time</dt>
          <dd>
            ≈ {duration(found.expectedS)}
            <span class="dim">{`${countOf(found.workers, "pack")} at once: ${found.workersFrom}`}</span>
          </dd>
        </div>
        <div>
          <dt>cost</dt>
          <dd>
            ≈ {dollars(found.dollars)}
            <span class="dim">{`${dollars(found.storageDollars)} storage, ${dollars(found.computeDollars)} compute`}</span>
          </dd>
        </div>
      </dl>
      <Facts
        rows={[
          ["chunks", `${count(found.chunks)}, ${milliseconds(found.chunkMs)} each`],
          [
            "packs",
            `${count(found.packs)} of ${countOf(found.packSize, "chunk")}, ${milliseconds(found.packMs)} each`,
          ],
          ["shards", count(found.shards)],
          ...(found.prefixes === undefined || found.prefixes.length === 0
            ? []
            : [["stop", prefixesText(found.prefixes, found.chunks)] as const]),
          ["computing", `${duration(found.computeS)} of one thread`],
          ["calls", `${count(calls.billed)} billed, ${calls.perChunk.toPrecision(2)} a chunk`],
          ...billingClasses
            .filter((one) => calls.total[one] > 0)
            .map((one) => [`· ${one}`, count(calls.total[one])] as const),
        ]}
      />
    </>
  );
}
