import { join, sep } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * The file and line at which user code failed, as ` (mine.ts:12)`; empty if the error does not tell. A file that does
 * not parse has no stack frame, but the lines above the frames name it.
 */
export function placeOf(error: unknown): string {
  const [line = ""] = [...userFrames(error), ...linesOf(error).filter(isUsers)];
  const [, file, row] = fileAndRow.exec(line) ?? [];
  return file === undefined ? "" : ` (${file}:${row})`;
}

/** The stack frames of user code: not of this program, of Node or of a package. */
export const userFrames = (error: unknown): readonly string[] =>
  linesOf(error).filter((line) => /^\s+at /.test(line) && isUsers(line));

/**
 * The code that called `watched`, which runs now: its package, if it is in one, and as `placeOf` the line of the user's file
 * that led there. Undefined where this program called.
 */
export function callerOf(
  watched: (...given: never) => unknown,
): { package?: string; place: string } | undefined {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = 100;
  const at = new Error();
  Error.captureStackTrace(at, watched);
  Error.stackTraceLimit = before;
  const nearest = linesOf(at).find((line) => fileAndRow.test(line) && !line.includes("node:"));
  if (nearest === undefined || isOwn(nearest)) return undefined;
  const name = /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(nearest)?.[1]?.replace("\\", "/");
  return { ...(name === undefined ? {} : { package: name }), place: placeOf(at) };
}

const linesOf = (error: unknown): readonly string[] =>
  error instanceof Error ? (error.stack ?? "").split("\n") : [];

const isUsers = (line: string): boolean =>
  fileAndRow.test(line) && !/node:|[\\/]node_modules[\\/]/.test(line) && !isOwn(line);

const isOwn = (line: string): boolean => ownFolders.some((folder) => line.includes(folder));

const fileAndRow = /[\\/]([^\\/\s()]+\.[cm]?[jt]s):(\d+)/;

/** The folder of the bundles, or those of the source. */
const own = import.meta.filename.endsWith(".ts")
  ? ["../..", "../../../packages"].map((folder) => join(import.meta.dirname, folder))
  : [import.meta.dirname];

/** This program's folders as stack frames of both kinds of modules name them. */
const ownFolders = own.flatMap((folder) => [`${folder}${sep}`, `${pathToFileURL(folder).href}/`]);
