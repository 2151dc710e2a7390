import { Option } from "commander";

/** `--param name=value`, repeatable: for a parameter whose name an option of Leasefold has taken; see `freeOptions.ts`. */
export const paramOption = (): Option =>
  new Option("-p, --param <name=value>", "a parameter by its name, repeatable")
    .argParser((pair: string, before: readonly string[]): readonly string[] => [...before, pair])
    .default([]);
