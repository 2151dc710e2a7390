import { CorruptDataError, NewerVersionError } from "../model/errors.ts";

/** What was read, or undefined where the bytes do not decode; with `newer` also where a newer version wrote them. */
export async function unlessUnreadable<T>(
  read: () => T | Promise<T>,
  { newer }: { readonly newer: boolean },
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CorruptDataError || (newer && error instanceof NewerVersionError)) return undefined;
    throw error;
  }
}
