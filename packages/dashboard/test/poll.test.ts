import { expect, test } from "vitest";
import { ApiError, type Ask } from "../../client/request.ts";
import { type Polled, startPoll } from "../data/poll.ts";

/** A poll in virtual time: answers are given one by one, and waits end when the test says so. */
function world(
  answers: readonly (() => Response | Promise<Response>)[],
  everyMs: number | undefined = 1_000,
) {
  const asked: (string | undefined)[] = [];
  const seen: Polled<{ n: number }>[] = [];
  const waits: { ms: number; then: () => void; cancelled: boolean }[] = [];
  let visible = true;
  let changed = (): void => {};
  const rest = [...answers];
  const ask: Ask = async (_path, { headers } = {}) => {
    asked.push(headers?.["if-none-match"]);
    return await (rest.shift() ?? (() => new Response(null, { status: 304 })))();
  };
  const poll = startPoll<{ n: number }>(
    ask,
    "runs/x",
    { everyMs: () => everyMs, onChange: (polled) => seen.push(polled) },
    {
      nowMs: () => asked.length,
      wait: (ms, then) => {
        const wait = { ms, then, cancelled: false };
        waits.push(wait);
        return () => {
          wait.cancelled = true;
        };
      },
      isVisible: () => visible,
      onVisible: (listener) => {
        changed = listener;
        return () => {
          changed = () => {};
        };
      },
    },
  );
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
  return {
    ...{ asked, seen, waits, poll, settle },
    show(now: boolean) {
      visible = now;
      changed();
    },
    async elapse() {
      const wait = waits.findLast((one) => !one.cancelled);
      wait?.then();
      await settle();
    },
  };
}

const answer = (n: number, etag: string) => () => Response.json({ n }, { headers: { etag } });

test("an answer is asked for again with its ETag, and no change keeps the value and confirms it", async () => {
  const { asked, seen, elapse, settle } = world([answer(1, '"a"')]);
  await settle();
  await elapse();
  expect(asked).toEqual([undefined, '"a"']);
  expect(seen.map(({ value, changedMs, confirmedMs }) => [value?.n, changedMs, confirmedMs])).toEqual([
    [1, 1, 1],
    [1, 1, 2],
  ]);
});

test("a hidden tab asks nothing, and asks at once when it is shown again", async () => {
  const { asked, show, elapse, settle } = world([answer(1, '"a"')]);
  await settle();
  show(false);
  await elapse();
  await elapse();
  expect(asked).toHaveLength(1);
  show(true);
  await settle();
  expect(asked).toHaveLength(2);
});

test("errors keep the last value, are told, and slow the asking down until an answer comes", async () => {
  const busy = () => Promise.reject(new ApiError("busy", { status: 503, code: "busy" }));
  const { seen, waits, elapse, settle } = world([
    answer(1, '"a"'),
    busy,
    busy,
    busy,
    busy,
    busy,
    answer(2, '"b"'),
  ]);
  await settle();
  for (let turn = 0; turn < 6; turn += 1) await elapse();
  expect(waits.map(({ ms }) => ms)).toEqual([1_000, 1_000, 2_000, 4_000, 8_000, 8_000, 1_000]);
  expect(seen[3]).toMatchObject({ value: { n: 1 }, error: { code: "busy" } });
  expect(seen.at(-1)).toMatchObject({ value: { n: 2 } });
  expect(seen.at(-1)).not.toHaveProperty("error");
});

test("Retry-After is respected, within ten seconds", async () => {
  const later = (retryAfterS: number) => () =>
    Promise.reject(new ApiError("busy", { status: 503, code: "busy", retryAfterS }));
  const { waits, elapse, settle } = world([later(5), later(3_600)]);
  await settle();
  await elapse();
  expect(waits.map(({ ms }) => ms)).toEqual([5_000, 10_000]);
});

test("a refused key ends the poll, and so does a value that needs no further one", async () => {
  const refused = world([() => Promise.reject(new ApiError("no", { status: 401, code: "http-401" }))]);
  await refused.settle();
  expect(refused.waits).toEqual([]);
  const closed = world([answer(1, '"a"')], undefined);
  closed.poll.now();
  await closed.settle();
  // Asked for while it was under way: once more, and then no longer.
  expect(closed.asked).toHaveLength(2);
});

test("a stopped poll tells nothing any more", async () => {
  const { poll, seen, settle, show, asked } = world([answer(1, '"a"')]);
  poll.stop();
  await settle();
  show(true);
  await settle();
  expect([seen.length, asked.length]).toEqual([0, 1]);
});
