import { hash } from "node:crypto";
import { canonicalJson } from "./decode.ts";
import { CorruptDataError } from "./errors.ts";
import type { Spec } from "./run.ts";

/** What tells a spec from another that was put in its place. A worker cannot tell one from the other by names. */

/** SHA-256 of what a run asks for, in a form that equal requests share. */
export function requestHashOf(
  request: Omit<Spec, "v" | "run" | "uid" | "requestHash" | "reuse"> & {
    readonly reuse?: Pick<NonNullable<Spec["reuse"]>, "codes"> | undefined;
  },
): string {
  const { calculation, params, packSize, tolerate, packLimitMs, attempts, deadline } = request;
  const acceptCode = request.reuse?.codes === undefined ? undefined : true;
  const work = { calculation, params, packSize, tolerate, packLimitMs, attempts, deadline, acceptCode };
  return hash("sha256", canonicalJson(work));
}

/** Throws `CorruptDataError` for a spec whose hash is not that of its request. */
export function checkRequestHash(spec: Spec): void {
  if (spec.requestHash === requestHashOf(spec)) return;
  throw new CorruptDataError(specDiffers, `the spec of ${spec.run}: requestHash is not that of its request`);
}

/** Code of the error for a spec that was replaced. Its id and uid were read. */
export const specDiffers = "spec-differs";

/** The error of a run of which documents are there but no spec. */
export const specLost = (run: string): CorruptDataError =>
  new CorruptDataError(
    "spec-lost",
    `the spec of ${run} is gone, and nothing else of the run was deleted. Restore ${run}/spec.json as it was and retry, or delete the run`,
  );

/** SHA-256 in hex of a document's bytes, by which marker, state, messages and manifest name it. */
export const documentHash = (body: Uint8Array | string): string => hash("sha256", body);

/** Throws `CorruptDataError` for a document that differs from the one that was named; none may be named. */
export function checkNamed(
  what: "spec" | "plan" | "segment",
  run: string,
  found: string,
  named?: string,
): void {
  if (named === undefined || named === found) return;
  const message = `the ${what} of ${run} is not the one that its run began with: SHA-256 ${found}, expected ${named}`;
  throw new CorruptDataError(`${what}-differs`, message);
}
