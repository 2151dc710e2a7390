import * as z from "zod";
import { callCountsSchema } from "../model/cost.ts";

/**
 * What the answers of several functions are made of. An answer is a schema beside the function that gives it: its type is
 * inferred from it, the tests compare every answer with it, and the OpenAPI document is made from it.
 */
export const count = z.int().nonnegative();
export const text = z.string();
/** A time of the storage service. */
export const time = z.string().meta({ format: "date-time" });
/** Seconds, with fractions. */
export const seconds = z.number().nonnegative();
export const list = <T extends z.ZodType>(one: T) => z.array(one).readonly();
export const runKey = { run: text, uid: text };
export const generation = z.int().positive();
export const errorSchema = z.object({ code: text, message: text });
export const calls = callCountsSchema.describe("Storage calls by billing class.").meta({ id: "Calls" });
