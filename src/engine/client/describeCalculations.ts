import * as z from "zod";
import type { AnyCalculation, Calculations } from "../calculation/contract.ts";
import { paramsSchema } from "../calculation/params.ts";
import { list, text } from "./viewSchemas.ts";

/** The description of a calculation for people and programs. */
export type DescribedCalculation = z.infer<typeof calculationSchema>;

const paramSchema = z.object({
  name: text,
  type: text,
  default: z.unknown().optional(),
  description: text,
  values: z.array(z.unknown()).readonly().optional(),
});
const calculationSchema = z
  .object({
    name: text,
    summary: text,
    params: z.array(paramSchema).readonly(),
    schema: z
      .record(text, z.unknown())
      .describe("JSON Schema of the parameters as they are given: defaults need not be."),
    code: text.describe("Identity of its code in the process that answers."),
    changed: z.literal(true).describe("Its file has changed since that process loaded it.").exactOptional(),
  })
  .meta({ id: "Calculation" });
export const calculationsSchema = z.object({ calculations: list(calculationSchema) });

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
