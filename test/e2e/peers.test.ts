import { expect, test } from "vitest";
import { starters } from "../bench/peers/computing.ts";
import type { WorkCell } from "../bench/peers/plan.ts";

const cell: WorkCell = {
  ...{ name: "chunks", about: "", taskChunks: 1 },
  work: { kind: "chain", chunks: 300 },
};

test("Leasefold and Piscina give the same answer of the same chunks in the bench of peers", async () => {
  const answers = [];
  for (const name of ["Leasefold", "Piscina"] as const) {
    const peer = await starters[name](cell);
    try {
      const { seconds, answer } = await peer.run(cell);
      expect(seconds).toBeGreaterThan(0);
      answers.push(answer);
    } finally {
      await peer.stop();
    }
  }
  expect(answers[0]).toHaveLength(2);
  expect(answers[1]).toEqual(answers[0]);
});
