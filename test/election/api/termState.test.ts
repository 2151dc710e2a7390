import { expect, test } from "vitest";
import { type Leader, leadOn } from "../../../src/election/api/lead.ts";
import type { TermState } from "../../../src/election/api/termState.ts";
import { alone, container, untilTold } from "../alone.ts";
import { noAnswer } from "../faultyLease.ts";

const name = "nightly";

test("each leader continues with what its predecessor has written", async () => {
  const { world, process } = alone();
  const add = async (leader: Leader): Promise<string> => {
    const state = await leader.openState();
    await state.write(`${state.text()}${leader.term}`);
    return state.text();
  };
  await world.finish(leadOn(process(), { name }, add));
  await world.finish(leadOn(process(), { name }, add));
  expect(await world.finish(leadOn(process(), { name }, add))).toMatchObject({ value: "123" });
});

test("a leader that resumes after its successor opened the state cannot write a byte", async () => {
  const { world, process } = alone();
  const old = process();
  let stale: TermState | undefined;
  void leadOn(old, { name, breakAfterMs: 4_000 }, async (leader) => {
    stale = await leader.openState();
    await stale.write("of the first");
    await untilTold(leader);
  });
  await world.advance(2_000);
  old.clock.pause();
  let seen: TermState | undefined;
  void leadOn(process(), { name, breakAfterMs: 4_000 }, async (leader) => {
    seen = await leader.openState();
    await untilTold(leader);
  });
  await world.until(() => seen !== undefined, 30_000);
  expect(seen?.text()).toBe("of the first");
  await expect(stale?.write("of a zombie")).rejects.toMatchObject({ code: "lost-leadership" });
  await seen?.write("of the second");
  const kept = await world.finish(
    process()
      .blobs.read(container, `state/${name}`)
      .then((one) => one.kind === "found" && String(one.body)),
  );
  expect(kept).toBe(String(new TextEncoder().encode("of the second")));
});

test("a late write is refused by storage, not by a clock, once the successor took over the state", async () => {
  const { world, process, storage } = alone();
  await storage.blobs.ensureContainer(container);
  const pretend = (term: number) => ({
    term,
    termid: `term-${term}`,
    lost: new AbortController().signal,
    assertLeading: () => {},
  });
  const { openTermState } = await import("../../../src/election/api/termState.ts");
  const ports = process();
  const first = await openTermState(ports, "state/x", pretend(1));
  await first.write("node-1");
  const second = await openTermState(ports, "state/x", pretend(2));
  expect(second.text()).toBe("node-1");
  await expect(world.finish(first.write("zombie"))).rejects.toMatchObject({ code: "lost-leadership" });
  await expect(openTermState(ports, "state/x", pretend(1))).rejects.toMatchObject({
    code: "term-overtaken",
    seenTerm: 2,
  });
});

test("a write with a lost reply counts once, and the next one is conditional on it", async () => {
  const { world, process } = alone();
  const ports = process();
  let drop = false;
  const flaky = {
    ...ports,
    blobs: {
      ...ports.blobs,
      replace: async (...args: Parameters<typeof ports.blobs.replace>) => {
        const outcome = await ports.blobs.replace(...args);
        if (!drop) return outcome;
        drop = false;
        throw noAnswer();
      },
    },
  };
  const result = leadOn(flaky, { name }, async (leader) => {
    const state = await leader.openState();
    drop = true;
    await state.write("a");
    await state.write("b");
    return state.text();
  });
  expect(await world.finish(result)).toMatchObject({ kind: "done", value: "b" });
});

test("after a rollback of the record the next term is above what the state has seen", async () => {
  const { world, process, storage } = alone();
  for (let turn = 0; turn < 3; turn += 1) {
    await world.finish(leadOn(process(), { name }, async (leader) => (await leader.openState()).write("x")));
  }
  storage.operator.deleteBlob(container, name);
  const terms: number[] = [];
  const result = leadOn(process(), { name }, async (leader) => {
    terms.push(leader.term);
    await leader.openState();
    return leader.term;
  });
  expect(await world.finish(result)).toMatchObject({ kind: "done", value: 4 });
  expect(terms).toEqual([1, 4]);
});
