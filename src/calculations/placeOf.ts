import { dirname, sep } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Where user code failed, as ` (mine.ts:12)`; empty where the error does not tell. A file that does not parse has no
 * frame, and the lines above the frames name it.
 */
export function placeOf(error: unknown): string {
  const [line = ""] = [...userFrames(error), ...linesOf(error).filter(isUsers)];
  const [, file, row] = fileAndRow.exec(line) ?? [];
  return file === undefined ? "" : ` (${file}:${row})`;
}

/** The frames of an error's stack that are neither of this program, nor of Node, nor of a package. */
export const userFrames = (error: unknown): readonly string[] =>
  linesOf(error).filter((line) => /^\s+at /.test(line) && isUsers(line));

const linesOf = (error: unknown): readonly string[] =>
  error instanceof Error ? (error.stack ?? "").split("\n") : [];

const isUsers = (line: string): boolean =>
  fileAndRow.test(line) &&
  !/node:|[\\/]node_modules[\\/]/.test(line) &&
  !ownFolders.some((folder) => line.includes(folder));

const fileAndRow = /[\\/]([^\\/\s()]+\.[cm]?[jt]s):(\d+)/;

/** A bundle lies beside the others of this program; the source of this file lies in one room of several. */
const own = import.meta.filename.endsWith(".ts") ? dirname(import.meta.dirname) : import.meta.dirname;

/** This program's folder as frames of both kinds of modules have it. */
const ownFolders = [`${own}${sep}`, `${pathToFileURL(own).href}/`];
