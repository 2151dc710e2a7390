import { InputError } from "./errors.ts";
import { limits } from "./limits.ts";

/**
 * The identity of a calculation's code: `name@version`. The version is declared, or `sha256:` and 12 hex digits of the
 * loaded files. The plan of a run fixes one identity; every partial and node carries the identity that made it.
 *
 * Not promised: that two programs of one declared version compute the same. Whoever declares a version says so.
 */
export const identityOf = (name: string, version: string): string => `${name}@${version}`;

/** The names that a calculation may have. */
export const namePattern = /^[a-z][a-z0-9-]{0,39}$/;

/** What an author may declare as `version`. */
export const declaredVersionPattern = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,39}$/;

/** The identity of a calculation's code in this process; undefined if the process does not know the calculation. */
export function identityHere(
  { versionOf }: { readonly versionOf: (calculation: string) => string },
  calculation: string,
): string | undefined {
  try {
    return versionOf(calculation);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/** The code that a piece of work needs. */
export interface AcceptedCode {
  /** The identity that computes, folds and finishes; undefined before there is a plan. */
  readonly code?: string | undefined;
  /** Identities whose partials are folded too, because the request asked for it. */
  readonly mix?: readonly string[] | undefined;
}

/** Whether an output of this code may be folded. One that names none never is. */
export const accepts = ({ code, mix = [] }: AcceptedCode, of: string | undefined): boolean =>
  of !== undefined && (of === code || mix.includes(of));

/** An identity for people: `mc-var 3f2a8b1c9d0e`. */
export const shownIdentity = (identity: string): string =>
  identity.replace("@sha256:", " ").replace("@", " ");

/** The code that a run waits for, and the code of the instances that requeued its work. */
export interface Refused {
  readonly needed: string;
  /** Empty if the instances do not know the calculation. */
  readonly theirs: readonly string[];
}

/** How instances get a calculation of one's own. */
export const howToRegister =
  'name its file in LEASEFOLD_CALCULATIONS, or package it: docs/OPERATIONS.md, "Your own calculation"';

/** `no instance has mc-var 3f2a8b1c9d0e; they have mc-var 9c1b…`. */
export function refusedText({ needed, theirs }: Refused): string {
  const have =
    theirs.length === 0
      ? `no calculation of that name (${howToRegister})`
      : theirs.map(shownIdentity).join(", ");
  return `no instance has ${shownIdentity(needed)}; they have ${have}`;
}

/** The error of a run that no instance could compute, with what to do. */
export const refusedTooLong = (refused: Refused): string =>
  `${refusedText(refused)}, and nothing was computed for more than ${limits.identityWaitMs / 60_000} minutes. ` +
  `Start instances with ${shownIdentity(refused.needed)} and retry, or compute it as another run by the code that they have`;
