import * as z from "zod";
import { calculationLimits } from "./limits.ts";

/**
 * The grammar of a result's content type and extension. A calculation chooses them, and they become parts of HTTP headers,
 * blob names and file names.
 */
const { contentTypeCharactersMax, extensionCharactersMax } = calculationLimits;

const extensionPattern = new RegExp(`^[A-Za-z0-9]{1,${extensionCharactersMax}}$`);

/** `type/subtype` by RFC 6838, section 4.2, and parameters that are tokens or quoted text without escapes. */
const name = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}";
const contentTypePattern = new RegExp(`^${name}/${name}(?: ?; ?${name}=(?:${name}|"[ !#-\\[\\]-~]*"))*$`);

export const contentTypeSchema = z
  .string()
  .max(contentTypeCharactersMax)
  .regex(contentTypePattern, 'a content type is "type/subtype", with parameters such as "; charset=utf-8"');

export const extensionSchema = z
  .string()
  .regex(extensionPattern, `an extension has 1 to ${extensionCharactersMax} letters and digits`);

/** What a calculation says of its result. */
export const notesSchema = z.array(z.string().max(500)).max(10);

/** A blob as `resultBlobs` names it: no segment is `.` or `..`, and it ends in an extension. */
export const resultBlobSchema = z
  .string()
  .regex(new RegExp(`^[\\w-]+(?:/[\\w-]+)*(?:\\.[\\w-]+)*\\.[A-Za-z0-9]{1,${extensionCharactersMax}}$`));

/** Types that a browser shows without running anything in them; all others are downloads. */
const shownTypes: readonly string[] = ["application/json", "text/csv", "image/png", "text/plain"];

/** The type without parameters. */
export const baseContentType = (contentType: string): string =>
  (contentType.split(";")[0] ?? "").trim().toLowerCase();

export const mayBeShown = (contentType: string): boolean => shownTypes.includes(baseContentType(contentType));
