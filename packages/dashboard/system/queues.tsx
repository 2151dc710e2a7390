import type { ComponentChildren, JSX } from "preact";
import type { PeekedQueue, QueueView } from "../../../src/engine/client/queues.ts";
import { count, duration } from "../../../src/engine/model/figures.ts";
import { valueText } from "../../../src/engine/model/json.ts";
import { serviceNowMs, usePoll } from "../data/hooks.ts";
import { Empty, Facts, Head, Panel } from "../parts/parts.tsx";
import { Stale } from "../parts/stale.tsx";
import { hashOf } from "../route.ts";
import { agoText } from "../runs/runRow.ts";

/** Depth and age of the queues, and their messages. Nothing is requeued from here: a retry does that. */
export function QueuesPart({ queue }: { readonly queue: string | undefined }): JSX.Element {
  const polled = usePoll<{ readonly queues: readonly QueueView[] }>("queues", () => 3_000);
  return (
    <>
      <Panel title="Queues">
        <Stale polled={polled} reading="Reading the queues …" />
        {polled.value === undefined ? null : <QueueTable queues={polled.value.queues} peeked={queue} />}
      </Panel>
      {queue === undefined ? null : <Messages key={queue} queue={queue} />}
    </>
  );
}

function QueueTable(of: {
  readonly queues: readonly QueueView[];
  readonly peeked: string | undefined;
}): JSX.Element {
  const peek = <span class="visually-hidden">Peek</span>;
  return (
    <table class="list compact">
      <Head columns={["Queue", "Messages", "Oldest", peek]} isNumber={(at) => at > 0} />
      <tbody>
        {of.queues.map(({ queue, state, approximateCount = 0, oldestS }) => (
          <tr key={queue} class={queue === of.peeked ? "chosen" : ""}>
            <td>
              {queue}{" "}
              {isPoison(queue) && approximateCount > 0 ? <span class="chip tone-bad">set aside</span> : null}
            </td>
            <td class="number">
              {state === "there" ? (
                count(approximateCount)
              ) : (
                <span class="dim">{state === "missing" ? "not created yet" : "no right to read it"}</span>
              )}
            </td>
            <td class="number">{oldestS === undefined ? "" : duration(Math.round(oldestS))}</td>
            <td class="number">
              {state !== "there" ? null : (
                <a href={hashOf({ view: "system", queue })} aria-label={`Peek into ${queue}`}>
                  Peek
                </a>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const isPoison = (queue: string): boolean => queue.endsWith("-poison");

const peeked = 16;

function Messages({ queue }: { readonly queue: string }): JSX.Element {
  const polled = usePoll<PeekedQueue>(`queues/${encodeURIComponent(queue)}?n=${peeked}`, () => undefined);
  const messages = polled.value?.messages;
  return (
    <Panel
      title={`Messages of ${queue}`}
      aside={
        <button type="button" class="quiet" onClick={polled.refresh}>
          Peek again
        </button>
      }
    >
      <Stale polled={polled} />
      <p class="dim">
        {isPoison(queue)
          ? "Messages that failed at every delivery. Their packs are recorded as failed: retry the run instead of moving messages."
          : `The first ${peeked} visible messages at most; peeking takes none away.`}
      </p>
      {messages !== undefined && messages.length === 0 ? <Empty title="No visible message" /> : null}
      <ol class="messages">
        {(messages ?? []).map((message) => (
          <li key={message.id}>
            <Message message={message} />
          </li>
        ))}
      </ol>
    </Panel>
  );
}

const hidden: ReadonlySet<string> = new Set(["v", "kind", "uid"]);

function Message({ message }: { readonly message: PeekedQueue["messages"][number] }): JSX.Element {
  const { insertedAt, dequeueCount, kind, decoded, text, cut } = message;
  const facts = Object.entries(decoded ?? {}).filter(([name]) => !hidden.has(name) && name !== "run");
  const run = decoded?.run;
  return (
    <>
      <p class="message-head">
        <b>{kind ?? "not decoded"}</b>
        {run !== undefined ? <a href={hashOf({ view: "run", run })}>{run}</a> : null}
        <span class="dim">
          {agoText((serviceNowMs() - Date.parse(insertedAt)) / 1_000)}, delivered {count(dequeueCount)}{" "}
          {dequeueCount === 1 ? "time" : "times"}
        </span>
      </p>
      <Facts
        rows={facts.map(([name, value]): readonly [string, ComponentChildren] => [name, valueText(value)])}
      />
      <details open={decoded === undefined}>
        <summary>Raw</summary>
        <pre class="code">
          {text}
          {cut === true ? "\n… cut" : ""}
        </pre>
      </details>
    </>
  );
}
