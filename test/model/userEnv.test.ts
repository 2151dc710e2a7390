import { expect, test } from "vitest";
import { ConfigError } from "../../src/engine/model/errors.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import { userEnv } from "../../src/engine/model/userEnv.ts";

const process = {
  ...{ PATH: "/bin", HOME: "/h", TZ: "UTC", TMPDIR: "/tmp", LANG: "C", SHELL: "/bin/sh" },
  ...{ QUOTES_URL: "https://quotes.test", TOKEN: "secret", EMPTY: "" },
  ...{ DataStorage: "key", DataStorage__clientId: "id", datastorage: "key", AzureWebJobsStorage: "key" },
  ...{ IDENTITY_HEADER: "key", MSI_SECRET: "key", WEBSITE_SITE_NAME: "app", LEASEFOLD_NAMESPACE: "mine" },
};
const always = ["HOME", "LANG", "PATH", "TMPDIR", "TZ"];
const found = (named?: string): readonly string[] =>
  Object.keys(userEnv({ ...process, LEASEFOLD_ENV: named })).sort();

test.each([
  [undefined, []],
  ["QUOTES_URL", ["QUOTES_URL"]],
  [" TOKEN , QUOTES_URL,,TOKEN", ["QUOTES_URL", "TOKEN"]],
  ["EMPTY", ["EMPTY"]],
  ["NOT_THERE", []],
  ["WEBSITE_SITE_NAME", ["WEBSITE_SITE_NAME"]],
  ["DataStorage,DataStorage__clientId,datastorage,AzureWebJobsStorage,IDENTITY_HEADER,MSI_SECRET", []],
])("of the variables that LEASEFOLD_ENV=%s names, user code finds %j", (named, more) => {
  expect(found(named)).toEqual(
    [...always, ...(named === undefined ? [] : ["LEASEFOLD_ENV"]), ...more].sort(),
  );
});

test("a program that a thread starts finds what its thread does", () => {
  const once = userEnv({ ...process, LEASEFOLD_ENV: "TOKEN" });
  expect(once).toMatchObject({ TOKEN: "secret", PATH: "/bin" });
  expect(userEnv(once)).toEqual(once);
});

test.each(["DataStorage", "TOKEN,azurewebjobsstorage", "IDENTITY_ENDPOINT", "MSI_SECRET", "A B", "1A"])(
  "LEASEFOLD_ENV=%s is refused by its name",
  (named) => {
    expect(() => readSettings({ LEASEFOLD_ENV: named })).toThrow(ConfigError);
    expect(() => readSettings({ LEASEFOLD_ENV: named })).toThrow(`LEASEFOLD_ENV=${named}: use names`);
  },
);
