import { ConfigError } from "../../model/errors.ts";

/**
 * A text of a binding with each `%SETTING%` replaced by its value, as the host does. Throws `ConfigError` naming
 * the function and the setting where one is missing.
 */
export function bindingText(
  binding: Readonly<Record<string, unknown>>,
  option: string,
  functionName: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const given = binding[option];
  if (typeof given !== "string" || given === "") {
    throw new ConfigError("bad-binding", `function ${functionName}: ${option} is missing`);
  }
  return given.replace(/%([^%]+)%/g, (_match, name: string) => {
    const value = env[name];
    if (value !== undefined && value !== "") return value;
    throw new ConfigError(
      "missing-setting",
      `function ${functionName}: ${option} is "${given}", but the setting ${name} is missing`,
    );
  });
}
