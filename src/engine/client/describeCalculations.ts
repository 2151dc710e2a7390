import * as z from "zod";
import type { AnyCalculation, Calculations } from "../calculation/contract.ts";
import { paramsSchema } from "../calculation/params.ts";

/** The description of a calculation for people and programs. */
export type DescribedCalculation = z.infer<typeof calculationSchema>;

const text = z.string();
const paramSchema = z.object({
  name: text,
  type: text,
  default: z.unknown().optional(),
  description: text,
  values: z.array(z.unknown()).readonly().optional(),
});
export const calculationSchema = z.object({
  name: text,
  summary: text,
  params: z.array(paramSchema).readonly(),
  /** JSON Schema of the parameters as they are given: defaults need not be. Instances of an older version lack it. */
  schema: z.record(text, z.unknown()).default({}),
  /** Identity of its code in this process, see `identity.ts`. */
  code: text,
  /** Present if its file has changed since this process loaded it. */
  changed: z.literal(true).optional(),
});

export const describeCalculation = (
  calculations: Calculations,
  one: AnyCalculation,
): DescribedCalculation => ({
  name: one.name,
  summary: one.summary,
  params: calculations.describeParams(one),
  schema: paramsSchema(one),
  code: calculations.versionOf(one.name),
  ...(calculations.changedSince?.(one.name) === true ? { changed: true } : {}),
});

export const describeCalculations = (calculations: Calculations): readonly DescribedCalculation[] =>
  calculations.list().map((one) => describeCalculation(calculations, one));
