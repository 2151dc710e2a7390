import { describe, expect, test } from "vitest";
import { decodeMessage, encodeMessage, type WorkMessage } from "../../src/engine/model/message.ts";
import { parseTraceparent, runSpanOf, traceIdOf } from "../../src/engine/model/trace.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const trace = `00-${traceId}-00f067aa0ba902b7-01`;

describe("parseTraceparent", () => {
  test.each([
    [trace, trace],
    [` ${trace} `, trace],
    [`00-${traceId}-00f067aa0ba902b7-00`, `00-${traceId}-00f067aa0ba902b7-00`],
    // Of the flags only `sampled` is kept; a later version may have more parts.
    [`00-${traceId}-00f067aa0ba902b7-03`, trace],
    [`01-${traceId}-00f067aa0ba902b7-01-more`, trace],
  ])("takes %s", (text, parsed) => expect(parseTraceparent(text)).toBe(parsed));

  test.each([
    undefined,
    null,
    "",
    "00",
    trace.toUpperCase(),
    `${trace}-more`,
    `ff-${traceId}-00f067aa0ba902b7-01`,
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-${traceId}-00f067aa0ba902b7-1`,
    `00-${traceId}-00f067aa0ba902b7-011`,
  ])("refuses %s", (text) => expect(parseTraceparent(text)).toBeUndefined());
});

describe("the trace of a run", () => {
  test("is that of its caller, who also decides whether it is sampled", () => {
    expect(runSpanOf({ uid: "u", gen: 1, trace })).toMatchObject({
      traceId,
      caller: "00f067aa0ba902b7",
      sampled: true,
    });
    expect(runSpanOf({ uid: "u", gen: 1, trace: trace.replace(/1$/, "0") }).sampled).toBe(false);
  });

  test("without a caller follows from its uid, with a span for each generation", () => {
    const [first, second] = [1, 2].map((gen) => runSpanOf({ uid: "u", gen }));
    expect(first).toMatchObject({ caller: undefined, sampled: undefined });
    expect(first?.traceId).toMatch(/^[\da-f]{32}$/);
    expect(second?.traceId).toBe(first?.traceId);
    expect(second?.spanId).toMatch(/^[\da-f]{16}$/);
    expect(second?.spanId).not.toBe(first?.spanId);
    expect(traceIdOf({ uid: "v" })).not.toBe(first?.traceId);
  });
});

test("a message keeps its trace, and one whose trace is none keeps its work", () => {
  const message = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0, kind: "plan", trace } as const;
  expect(decodeMessage(encodeMessage(message))).toEqual(message);
  const forged = { ...message, trace: "../../x" } as WorkMessage;
  expect(decodeMessage(encodeMessage(forged))).toEqual({ ...message, trace: undefined });
});
