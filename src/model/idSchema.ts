import * as z from "zod";
import { runIdPattern } from "./names.ts";

/**
 * A run's id, its uid, or the tag of an attempt or answer, as documents, markers and messages carry them. Each becomes
 * a segment of blob names, so none may hold a slash or a dot: whoever forges one stays within the run's own folder.
 */
export const idSchema = z
  .string()
  .regex(runIdPattern, 'use 1 to 63 letters, digits, "-" or "_", beginning with a letter or digit');
