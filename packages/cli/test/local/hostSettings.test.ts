import { describe, expect, it } from "vitest";
import { parseTimespan, readHostSettings } from "../../../../src/engine/model/hostSettings.ts";

const minimal = JSON.stringify({ version: "2.0" });
const withQueues = (queues: object) => JSON.stringify({ version: "2.0", extensions: { queues } });
const override = (name: string, value: string) => ({ [`AzureFunctionsJobHost__${name}`]: value });

describe("host.json", () => {
  it("has the host's own defaults for absent settings", () => {
    expect(readHostSettings(minimal, {}, 4)).toEqual({
      functionTimeoutMs: 1_800_000,
      queues: {
        batchSize: 16,
        newBatchThreshold: 32,
        maxPollingIntervalMs: 60_000,
        visibilityTimeoutMs: 0,
        maxDequeueCount: 5,
        messageEncoding: "base64",
      },
      http: { routePrefix: "api" },
    });
  });

  it("is read in milliseconds and counts, whatever the case of its names", () => {
    const settings = readHostSettings(
      JSON.stringify({
        version: "2.0",
        FunctionTimeout: "00:10:00",
        extensions: {
          queues: {
            batchsize: 1,
            newBatchThreshold: 1,
            visibilityTimeout: "00:00:30",
            maxPollingInterval: "00:00:02",
            messageEncoding: "None",
          },
          http: { routePrefix: "/v1/" },
        },
      }),
      {},
    );
    expect(settings.functionTimeoutMs).toBe(600_000);
    expect(settings.queues).toMatchObject({
      batchSize: 1,
      newBatchThreshold: 1,
      visibilityTimeoutMs: 30_000,
    });
    expect(settings.queues).toMatchObject({ maxPollingIntervalMs: 2_000, messageEncoding: "none" });
    expect(settings.http.routePrefix).toBe("v1");
  });

  it("is overruled by the host's settings in the environment, whatever their case", () => {
    const settings = readHostSettings(withQueues({ batchSize: 4 }), {
      ...override("extensions__queues__BATCHSIZE", "8"),
      ...override("extensions__queues__maxPollingInterval", "00:00:00.1"),
      AZUREFUNCTIONSJOBHOST__FUNCTIONTIMEOUT: "-1",
    });
    expect(settings.queues).toMatchObject({ batchSize: 8, newBatchThreshold: 4, maxPollingIntervalMs: 100 });
    expect(settings.functionTimeoutMs).toBe(Number.POSITIVE_INFINITY);
  });

  it("is polled every two seconds by default on a developer's machine", () => {
    const settings = readHostSettings(minimal, { AZURE_FUNCTIONS_ENVIRONMENT: "Development" });
    expect(settings.queues.maxPollingIntervalMs).toBe(2_000);
  });

  it.each([
    ["extensions__queues__batchSize", "0", "a whole number from 1 to 32"],
    ["extensions__queues__batchSize", "33", "a whole number from 1 to 32"],
    ["extensions__queues__batchSize", "many", "a whole number from 1 to 32"],
    ["extensions__queues__newBatchThreshold", "-1", "a whole number from 0"],
    ["extensions__queues__maxDequeueCount", "0", "a whole number from 1"],
    ["extensions__queues__maxPollingInterval", "00:00:00.05", "100 ms"],
    ["extensions__queues__visibilityTimeout", "8.00:00:00", "7 days"],
    ["extensions__queues__messageEncoding", "utf16", '"none" or "base64"'],
    ["functionTimeout", "00:00:00", "at least one second"],
    ["functionTimeout", "24:00:00", "at least one second"],
    ["version", "1.0", '"version": "2.0"'],
  ])("refuses %s=%s, naming the setting, the value and the rule", (name, value, rule) => {
    const read = () => readHostSettings(minimal, override(name, value));
    expect(read).toThrow(`AzureFunctionsJobHost__${name}="${value}"`);
    expect(read).toThrow(rule);
  });

  it("is refused if it is no JSON object or has no version", () => {
    expect(() => readHostSettings("[]", {})).toThrow("host.json is not a JSON object");
    expect(() => readHostSettings("{", {})).toThrow("host.json is not a JSON object");
    expect(() => readHostSettings("{}", {})).toThrow('needs "version": "2.0"');
  });
});

describe("a time span", () => {
  it.each([
    ["00:10:00", 600_000],
    ["1.02:03:04.5", 93_784_500],
    ["00:00:00.1", 100],
    ["00:05", 300_000],
    ["24:00:00", undefined],
    ["10", undefined],
    ["", undefined],
  ])("of %s is %s ms", (text, ms) => {
    expect(parseTimespan(text)).toBe(ms);
  });
});
