import type { JSX } from "preact";
import type { Durations } from "../../../src/engine/client/inspection/durations.ts";
import { count, countOf, milliseconds, stepText } from "../../../src/engine/model/figures.ts";
import { rangeText } from "../../../src/engine/model/packs.ts";
import { Head, Notice, Scroll } from "../parts/parts.tsx";

/** More than this times the third quartile is a pack that holds up the others (the measure of Spark). */
const skewFactor = 1.5;

/** How long packs took: quantiles, a histogram and the slowest ones. */
export function DurationsView({ found }: { readonly found: Durations }): JSX.Element {
  if (found.counted === 0) return <p class="dim">No pack is done yet.</p>;
  const { p50Ms, p75Ms, p95Ms, maxMs } = found;
  const skewed = maxMs !== undefined && p75Ms !== undefined && maxMs > skewFactor * p75Ms;
  return (
    <>
      <dl class="figures small">
        {(
          [
            ["p50", p50Ms],
            ["p75", p75Ms],
            ["p95", p95Ms],
            ["max", maxMs],
          ] as const
        ).map(([name, ms]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{ms === undefined ? "–" : milliseconds(ms)}</dd>
          </div>
        ))}
      </dl>
      {found.cut ? (
        <Notice tone="warn">{`Cut: ${count(found.counted)} of ${countOf(found.packs, "pack")} count here.`}</Notice>
      ) : null}
      {skewed ? (
        <p class="dim">
          The longest pack took more than {skewFactor} times the third quartile: a few packs are heavier than
          most.
        </p>
      ) : null}
      <Histogram found={found} />
      {found.slowest.length > 0 ? (
        <Slowest found={found} />
      ) : (
        <p class="dim">Which packs were the slowest is not kept after a run is complete.</p>
      )}
    </>
  );
}

function Histogram({ found }: { readonly found: Durations }): JSX.Element {
  const { histogram } = found;
  const most = Math.max(1, ...histogram.map(({ packs }) => packs));
  const [width, height] = [600, 90];
  const step = width / Math.max(1, histogram.length);
  const last = histogram.at(-1);
  const stepMs = last === undefined ? 1 : last.toMs - last.fromMs;
  return (
    <figure class="histogram">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label="Packs by duration"
      >
        {histogram.map(({ fromMs, toMs, packs }, index) => (
          <rect
            class="column"
            key={fromMs}
            x={index * step + 1}
            width={Math.max(1, step - 2)}
            y={height - (packs / most) * height}
            height={(packs / most) * height}
          >
            <title>{`${stepText(fromMs, stepMs)} to ${stepText(toMs, stepMs)}: ${countOf(packs, "pack")}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption>
        <span>{stepText(histogram[0]?.fromMs ?? 0, stepMs)}</span>
        <span>{stepText(last?.toMs ?? 0, stepMs)}</span>
      </figcaption>
    </figure>
  );
}

function Slowest({ found }: { readonly found: Durations }): JSX.Element {
  return (
    <Scroll label="Slowest packs">
      <table class="list compact">
        <caption>Slowest packs</caption>
        <Head columns={["Pack", "Chunks", "Took", "Attempt"]} isNumber={() => true} />
        <tbody>
          {found.slowest.map(({ pack, chunks, ms, attempt }) => (
            <tr key={pack}>
              <td class="number">{count(pack)}</td>
              <td class="number">{rangeText(chunks)}</td>
              <td class="number">{milliseconds(ms)}</td>
              <td class="number">{attempt ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
