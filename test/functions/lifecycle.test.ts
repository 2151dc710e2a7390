import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchLifecycle } from "../../src/app/functions/lifecycle.ts";

const hooks = vi.hoisted((): (() => Promise<void>)[] => []);
vi.mock("@azure/functions", () => ({
  app: { hook: { appTerminate: (hook: () => Promise<void>) => void hooks.push(hook) } },
}));

const signals = ["SIGTERM", "SIGINT"] as const;
const listening = signals.flatMap((signal) => process.listeners(signal));
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  for (const signal of signals)
    for (const one of process.listeners(signal))
      if (!listening.includes(one)) process.removeListener(signal, one);
  vi.restoreAllMocks();
});

/** What happens when, in ms, where the host asks for an end while work runs that ends by itself, if stopped, or never. */
async function stopDuring(work: "ends after a second" | "ends when stopped" | "never ends") {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const events: string[] = [];
  const begunMs = Date.now();
  const note = (what: string) => void events.push(`${what} after ${Date.now() - begunMs} ms`);
  const lifecycle = watchLifecycle({
    stopWork: async () => {
      note("stopped");
      if (work === "ends when stopped") end();
    },
    leave: async () => note("left"),
  });
  void lifecycle.during(() => promise);
  const terminated = hooks
    .at(-1)?.()
    .then(() => note("terminated"));
  expect(lifecycle.stopping.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(1_000);
  if (work === "ends after a second") end();
  await vi.advanceTimersByTimeAsync(10_000);
  await terminated;
  return events;
}

test.each([
  ["ends after a second", ["left after 1000 ms", "terminated after 1100 ms"]],
  ["ends when stopped", ["stopped after 2000 ms", "left after 2000 ms", "terminated after 2100 ms"]],
  ["never ends", ["stopped after 2000 ms", "left after 4000 ms", "terminated after 4100 ms"]],
] as const)(
  "work that %s is stopped after two seconds, its heartbeat is removed, and its answer has a moment to leave",
  async (work, expected) => {
    expect(await stopDuring(work)).toEqual(expected);
  },
);

/** What a signal does to a process that computes, where nobody or somebody else listens for it too. */
async function signalled(signal: NodeJS.Signals, others: readonly (() => void)[]) {
  const before = process.listeners(signal);
  // Those of the test runner are not of this process's app.
  for (const one of before) process.removeListener(signal, one);
  const exit = vi.spyOn(process, "exit").mockImplementation((() => undefined) as never);
  const leave = vi.fn(async () => {});
  const lifecycle = watchLifecycle({ stopWork: async () => {}, leave });
  for (const other of others) process.on(signal, other);
  process.emit(signal);
  await vi.advanceTimersByTimeAsync(10_000);
  process.removeAllListeners(signal);
  for (const one of before) process.on(signal, one);
  return {
    stopped: lifecycle.stopping.aborted,
    left: leave.mock.calls.length,
    exits: exit.mock.calls.flat(),
  };
}

test.each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const)("%s hands over and ends the Node worker, which listens for no signal", async (signal, code) => {
  expect(await signalled(signal, [])).toEqual({ stopped: true, left: 1, exits: [code] });
});

test("where a supervisor decides what Ctrl-C means, the app goes on; SIGTERM it obeys and leaves the end to the other", async () => {
  const supervised = [() => {}];
  expect(await signalled("SIGINT", supervised)).toEqual({ stopped: false, left: 0, exits: [] });
  expect(await signalled("SIGTERM", supervised)).toEqual({ stopped: true, left: 1, exits: [] });
});
