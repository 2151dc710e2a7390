import { expect, test } from "vitest";
import { disturbances } from "./disturbances.ts";

// The large ones are played by `npm run sim -- --figures ""`.
const quick = Object.entries(disturbances).flatMap(([title, { quick, figure }]) =>
  quick === true ? [{ title, figure }] : [],
);

test.each(quick)("$title: within its bound", async ({ title, figure }) => {
  const { took, bound, holds } = await figure();
  console.log(`${title}: ${took}; bound ${bound}`);
  expect({ took, bound, holds }).toMatchObject({ holds: true });
});
