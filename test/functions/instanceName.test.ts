import { expect, test } from "vitest";
import { hostInstance } from "../../src/app/functions/startupConfig.ts";

const instance = "4f1c9a".repeat(10);

test.each([
  ["Flex Consumption", { WEBSITE_POD_NAME: "pod-1", CONTAINER_NAME: "c-1" }, "pod-1"],
  ["Linux Consumption", { CONTAINER_NAME: "c-1", WEBSITE_POD_NAME: "" }, "c-1"],
  ["App Service", { WEBSITE_INSTANCE_ID: instance }, "4f1c9a4f1c9a"],
  ["no platform", {}, undefined],
])("an instance on %s has the name that the host gives it", (_where, env, name) => {
  expect(hostInstance(env)).toBe(name);
});
