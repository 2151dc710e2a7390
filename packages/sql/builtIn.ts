import { always } from "../../src/calculations/registry.ts";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { sql } from "./sql.ts";

/** The built-in calculations of an app that has this package. */
export const builtIn: readonly AnyCalculation[] = [...always, sql];
