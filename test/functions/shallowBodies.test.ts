import { expect, test } from "vitest";
import { bodyLevelsMax, type CoreModule, shallowBodies } from "../../src/app/functions/shallowBodies.ts";

type Model = Parameters<CoreModule["setProgrammingModel"]>[0];
type Context = Parameters<Model["getInvocationModel"]>[0];

/** The worker's module with the library's model, which gives back what it was asked with. */
function fakeCore() {
  let model: Model | undefined = {
    getCapabilities: (given) => given,
    getInvocationModel: (context) => context,
  };
  const core: CoreModule = {
    getProgrammingModel: () => model,
    setProgrammingModel: (given) => {
      model = given;
    },
  };
  shallowBodies(core);
  return (request: Context["request"]) =>
    ((model as Model).getInvocationModel({ request }) as Context).request;
}

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

test("a body that nests deeper than the limit reaches the library as a text that is no JSON, wherever it stands", () => {
  const deep = nested(bodyLevelsMax + 1);
  const request = fakeCore()({
    inputData: [{ data: { string: deep } }, { data: { json: deep } }, { data: null }],
    triggerMetadata: { queueTrigger: { string: deep }, a: { json: `{"a":${deep}}` } },
  });
  const texts = [
    ...(request.inputData ?? []).slice(0, 2).map(({ data }) => data),
    ...Object.values(request.triggerMetadata ?? {}),
  ];
  for (const data of texts) {
    expect(data).toEqual({ string: expect.stringMatching(/^nested deeper than 500 levels: /) });
    expect(data?.string?.length).toBeLessThan(300);
  }
});

test("every other body reaches the library as it is", () => {
  const given = {
    inputData: [{ data: { string: nested(bodyLevelsMax) } }, { data: { json: '{"v":1}' } }, { data: {} }],
    triggerMetadata: { id: { string: "m1" }, run: { string: "[]".repeat(5_000) } },
  };
  expect(fakeCore()(structuredClone(given))).toEqual(given);
});

test("without a host, or in one that does not tell its model, nothing happens", () => {
  expect(() => shallowBodies()).not.toThrow();
  const setProgrammingModel = () => {
    throw new Error("must not be called");
  };
  expect(() => shallowBodies({ setProgrammingModel })).not.toThrow();
});
