import fc from "fast-check";
import { expect, test } from "vitest";
import { leadOn } from "../../../src/election/api/lead.ts";
import {
  newTerms,
  type ObservedTerm,
  type ObserverProgress,
  observeOn,
} from "../../../src/election/api/observe.ts";
import type { LeaderRecord, PastTerm } from "../../../src/election/record/record.ts";
import { type Alone, alone, container, untilTold } from "../alone.ts";
import { noAnswer } from "../faultyLease.ts";

const name = "nightly";

/** Observes in the background; the answer grows as time passes. */
function watch(one: Alone, options: { everyMs?: number } = {}, end = new AbortController()) {
  const seen: ObservedTerm[] = [];
  const done = (async () => {
    for await (const term of observeOn(one.process(), { name, ...options }, { signal: end.signal }))
      seen.push(term);
  })();
  return { seen, done, stop: () => end.abort() };
}

test("each term is seen once, in order, with who leads now", async () => {
  const one = alone();
  const { seen, done, stop } = watch(one);
  await one.world.advance(3_000);
  expect(seen).toEqual([]);
  for (const holder of ["a", "b", "c"]) {
    const end = new AbortController();
    const led = leadOn(one.process(), { name, holder, signal: end.signal }, untilTold);
    await one.world.advance(3_000);
    end.abort();
    await one.world.finish(led);
  }
  stop();
  await one.world.finish(done);
  expect(seen).toMatchObject([
    { term: 1, holder: "a", leading: true, missed: 0, rolledBack: false },
    { term: 2, holder: "b", leading: true },
    { term: 3, holder: "c", leading: true },
  ]);
});

test("a slow observer misses none of sixteen terms, and counts those beyond them", async () => {
  const one = alone();
  const lead = () => one.world.finish(leadOn(one.process(), { name }, () => {}));
  await lead();
  const slow = observeOn(one.process(), { name });
  expect((await one.world.finish(slow.next())).value).toMatchObject({ term: 1 });
  for (let turn = 0; turn < 16; turn += 1) await lead();
  const terms: number[] = [];
  for (let turn = 0; turn < 16; turn += 1) {
    const { value } = await one.world.finish(slow.next());
    expect(value).toMatchObject({ missed: 0 });
    if (value) terms.push(value.term);
  }
  expect(terms).toEqual(Array.from({ length: 16 }, (_, index) => index + 2));
  for (let turn = 0; turn < 20; turn += 1) await lead();
  expect((await one.world.finish(slow.next())).value).toMatchObject({ term: 22, missed: 4 });
  await slow.return();
});

test("an outage is waited out, and a signal ends it without an error", async () => {
  const one = alone();
  void leadOn(one.process(), { name, holder: "a" }, untilTold);
  let away = true;
  const flaky = one.process((lease) => ({
    ...lease,
    view: (options) => (away ? Promise.reject(noAnswer()) : lease.view(options)),
  }));
  const end = new AbortController();
  const terms = observeOn(flaky, { name }, { signal: end.signal });
  const first = terms.next();
  await one.world.advance(60_000);
  away = false;
  expect((await one.world.finish(first)).value).toMatchObject({ term: 1 });
  const second = terms.next();
  await one.world.advance(5_000);
  end.abort();
  expect(await one.world.finish(second)).toEqual({ done: true, value: undefined });
});

test("a deleted record begins anew, and its first term is marked", async () => {
  const one = alone();
  const lead = (holder: string) => one.world.finish(leadOn(one.process(), { name, holder }, () => {}));
  await lead("a");
  await lead("b");
  const { seen, stop, done } = watch(one);
  await one.world.advance(2_000);
  one.storage.operator.deleteBlob(container, name);
  await lead("c");
  await one.world.advance(2_000);
  await lead("d");
  await one.world.advance(2_000);
  stop();
  await one.world.finish(done);
  expect(seen).toMatchObject([
    { term: 2, holder: "b", rolledBack: false },
    { term: 1, holder: "c", rolledBack: true },
    { term: 2, holder: "d", rolledBack: false, missed: 0 },
  ]);
});

const termOf = (term: number, line = ""): PastTerm => ({
  term,
  termid: `${term}${line}`,
  holder: "h",
  sinceMs: 0,
  cameBy: "free",
});
const recordOf = (history: readonly PastTerm[]): LeaderRecord => {
  const last = history.at(-1) ?? termOf(0);
  return {
    ...last,
    state: "leading",
    heartbeat: "b",
    breakAfterMs: 0,
    cameBy: "free",
    notes: {},
    lastTerms: history.slice(-16),
  };
};

test("whenever an observer polls, it yields every term of the record once and in order", () => {
  const looks = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(looks, (steps) => {
      let progress: ObserverProgress = { last: undefined, known: [] };
      let at = 0;
      let told = 0;
      for (const step of steps) {
        at += step;
        const history = Array.from({ length: at }, (_, index) => termOf(index + 1));
        const found = newTerms(recordOf(history), progress);
        for (const one of found.terms) {
          expect(one.rolledBack).toBe(false);
          if (told > 0) expect(one.term).toBe(told + one.missed + 1);
          told = one.term;
        }
        expect(told).toBe(at);
        expect(newTerms(recordOf(history), found.progress).terms).toEqual([]);
        ({ progress } = found);
      }
    }),
  );
});

test("a record with another history is yielded from where it leaves the known one", () => {
  const known = [1, 2, 3, 4, 5].map((term) => termOf(term));
  let progress: ObserverProgress = { last: undefined, known: [] };
  for (let end = 1; end <= 5; end += 1) ({ progress } = newTerms(recordOf(known.slice(0, end)), progress));
  const back = newTerms(recordOf(known.slice(0, 3)), progress);
  expect(back.terms).toMatchObject([{ term: 3, rolledBack: true }]);
  const again = newTerms(recordOf([...known.slice(0, 3), termOf(4, "x"), termOf(5, "x")]), progress);
  expect(again.terms).toMatchObject([
    { term: 4, termid: "4x", rolledBack: true },
    { term: 5, termid: "5x", rolledBack: false },
  ]);
});
