import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchLifecycle } from "../../src/app/functions/lifecycle.ts";

const hooks = vi.hoisted((): (() => Promise<void>)[] => []);
vi.mock("@azure/functions", () => ({
  app: { hook: { appTerminate: (hook: () => Promise<void>) => void hooks.push(hook) } },
}));

const listening = process.listeners("SIGTERM");
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  for (const one of process.listeners("SIGTERM"))
    if (!listening.includes(one)) process.removeListener("SIGTERM", one);
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
  "work that %s is stopped after two seconds, its sign is removed, and its answer has a moment to leave",
  async (work, expected) => {
    expect(await stopDuring(work)).toEqual(expected);
  },
);
