import { InputError } from "../../model/errors.ts";

/** A path of this machine that cannot be uploaded, and why. */
export const badFile = (message: string): InputError =>
  new InputError("invalid", "bad-file", message, { field: "path" });

/** Blobs that are there and hold something else. */
export const otherContent = (names: readonly string[]): InputError => {
  const what = names.length === 1 ? `${names[0]} is` : `${names.length} files, such as ${names[0]}, are`;
  const message = `${what} there with other content: give --replace to overwrite, or another folder with --to`;
  return new InputError("conflict", "other-content", message);
};

export const changedMeanwhile = (file: string): InputError =>
  new InputError(
    "conflict",
    "file-changing",
    `${file} changed while it was read: upload it again when it is still`,
  );
