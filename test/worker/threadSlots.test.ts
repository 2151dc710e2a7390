import { expect, test } from "vitest";
import { limits } from "../../src/engine/model/limits.ts";
import { NoThreadError, threadSlots } from "../../src/engine/worker/threads/threadSlots.ts";
import { virtualWorld } from "../support/virtualClock.ts";

/** Slots in virtual time; callers tell under their names how they fared. */
function pool(threads: number) {
  const world = virtualWorld({ seed: 1 });
  const slots = threadSlots(threads, world.clock());
  const told: string[] = [];
  const leaves = new Map<string, () => void>();
  return {
    ...{ world, slots, told },
    ask(name: string, options: Partial<Parameters<typeof slots.hold>[0]> = {}): void {
      slots.hold({ urgent: true, ...options }).then(
        (leave) => {
          leaves.set(name, leave);
          told.push(`${name} begins`);
        },
        (error: unknown) => {
          told.push(`${name} goes back`);
          if (error instanceof NoThreadError) void error.freed.then(() => told.push(`${name} ends`));
        },
      );
    },
    leave: (name: string): void => leaves.get(name)?.(),
  };
}

test("whoever waits for threads that are overdue goes back, and whoever comes later does so at once", async () => {
  const { world, told, ask } = pool(2);
  ask("a", { run: "a" });
  ask("b", { run: "a" });
  await world.advance(4_000);
  ask("urgent", { run: "r" });
  ask("other", { run: "r", urgent: false });
  await world.advance(limits.noThreadMs - 4_000 - 1);
  expect(told).toEqual(["a begins", "b begins"]);
  await world.advance(2);
  expect(told.slice(2).sort()).toEqual(["other goes back", "urgent goes back"]);
  ask("later", { run: "r" });
  await world.advance(1);
  expect(told.at(-1)).toBe("later goes back");
});

test("a thread is overdue after three times its planned time", async () => {
  const { world, told, ask } = pool(1);
  ask("long", { run: "a", expectedMs: 20_000 });
  await world.advance(0);
  ask("r", { run: "r" });
  await world.advance(59_999);
  expect(told).toEqual(["long begins"]);
  await world.advance(2);
  expect(told).toEqual(["long begins", "r goes back"]);
});

test("nobody goes back from threads of its own run, until another run has one of them", async () => {
  const { world, told, ask, leave } = pool(2);
  ask("a", { run: "a" });
  ask("b", { run: "a" });
  await world.advance(0);
  ask("c", { run: "a" });
  ask("d", { run: "a" });
  await world.advance(60_000);
  expect(told).toEqual(["a begins", "b begins"]);
  leave("a");
  await world.advance(0);
  expect(told.at(-1)).toBe("c begins");
  leave("b");
  ask("x", { run: "x" });
  await world.advance(60_000);
  expect(told.slice(3)).toEqual(["d begins", "x goes back"]);
});

test("a thread that comes free ends all who went back, and is kept a moment for who is urgent", async () => {
  const { world, told, ask, leave } = pool(1);
  ask("hung", { run: "a" });
  await world.advance(limits.noThreadMs + 1);
  for (const name of ["r", "s"]) {
    ask(name, { run: name });
    await world.advance(1);
  }
  leave("hung");
  ask("next pack", { run: "a", urgent: false });
  await world.advance(limits.keptForUrgentMs / 2);
  expect(told.slice(0, 3)).toEqual(["hung begins", "r goes back", "s goes back"]);
  expect(told.slice(3).sort()).toEqual(["r ends", "s ends"]);
  ask("r again", { run: "r" });
  await world.advance(0);
  expect(told.at(-1)).toBe("r again begins");
  leave("r again");
  await world.advance(0);
  expect(told.at(-1)).toBe("next pack begins");
});

test("a thread that is kept in vain is free for all", async () => {
  const { world, told, ask, leave } = pool(1);
  ask("hung", { run: "a" });
  await world.advance(limits.noThreadMs + 1);
  ask("r", { run: "r" });
  await world.advance(1);
  ask("next pack", { run: "a", urgent: false });
  leave("hung");
  await world.advance(limits.keptForUrgentMs + 1);
  expect(told.at(-1)).toBe("next pack begins");
});

test("isolated work waits for all threads, however long, and gets one that is kept", async () => {
  const { world, told, ask, leave } = pool(2);
  ask("a", { run: "a" });
  ask("b", { run: "a" });
  await world.advance(limits.noThreadMs + 1);
  ask("r", { run: "r" });
  await world.advance(1);
  leave("a");
  await world.advance(1);
  ask("isolated", { run: "r", isolated: true });
  await world.advance(600_000);
  expect(told.at(-1)).toBe("r ends");
  leave("b");
  await world.advance(0);
  expect(told.at(-1)).toBe("isolated begins");
});

test("who waits behind isolated work goes back once the threads before that are overdue", async () => {
  const { world, told, ask, leave } = pool(2);
  ask("hung", { run: "a" });
  ask("short", { run: "b" });
  await world.advance(0);
  ask("isolated", { run: "b", isolated: true });
  ask("r", { run: "r" });
  leave("short");
  await world.advance(limits.noThreadMs + 1);
  expect(told).toEqual(["hung begins", "short begins", "r goes back"]);
});

test("a close ends who waits and who went back", async () => {
  const { world, slots, told, ask } = pool(1);
  ask("hung", { run: "a" });
  await world.advance(limits.noThreadMs + 1);
  ask("r", { run: "r" });
  await world.advance(1);
  slots.close(new Error("stopping"));
  await world.advance(1);
  expect(told.slice(1)).toEqual(["r goes back", "r ends"]);
  await expect(slots.hold({ urgent: true })).rejects.toThrow("stopping");
});
