import { limits } from "./limits.ts";
import { planTag } from "./output.ts";
import type { Failure } from "./run.ts";
import { versions } from "./versions.ts";

/** How a send ended, as its record's metadata tell it to whoever lists the records. */
export interface ToldFailure {
  readonly cause: string;
  readonly code: string;
  readonly message: string;
  readonly attempts: number;
  readonly attemptsMax: number;
  /** Every other attempt would fail as well. */
  readonly final: boolean;
  /** Of a note: its message was to be hidden for so long, in seconds. */
  readonly laterS?: number;
  /** Where the other chunks of its pack have a partial: how many failed, and the plan that it is of, as outputs carry it. */
  readonly gaps?: { readonly failed: number; readonly plan: string | undefined };
  /** The message tells the chunks that it is about. */
  readonly named?: true;
  /** The chunk at which the send ended with its thread. */
  readonly chunk?: number | undefined;
}

/** Characters of a message in metadata, which have 8 KB. */
const toldCharactersMax = 500;

/**
 * A failure record as it is stored: cause and message also ride in the metadata, so that one list brings those of all.
 * `plan`: its SHA-256.
 */
export function encodeFailure(failure: Omit<Failure, "v">, plan?: string) {
  const { cause, code, attempts, attemptsMax, final, gaps, chunk, laterS, named } = failure;
  const message = failure.message.slice(0, limits.errorCharactersMax);
  const record: Failure = { v: versions.failure, ...failure, message };
  const metadata: Record<string, string> = {
    cause,
    code,
    attempts: String(attempts),
    message: Buffer.from(message.slice(0, toldCharactersMax)).toString("base64url"),
    ...(attemptsMax === undefined ? {} : { attemptsmax: String(attemptsMax) }),
    ...(final === true ? { final: "1" } : {}),
    ...(laterS === undefined ? {} : { later: String(laterS) }),
    ...(gaps === undefined ? {} : { failed: String(gaps.failed) }),
    ...(gaps === undefined || plan === undefined ? {} : { plan: planTag(plan) }),
    ...(chunk === undefined ? {} : { chunk: String(chunk) }),
    ...(named === undefined ? {} : { named: "1" }),
  };
  return { body: JSON.stringify(record), write: { contentType: "application/json", metadata } };
}

export function decodeToldFailure(metadata: Readonly<Record<string, string>>): ToldFailure {
  const number = (name: string): number => Number(metadata[name] ?? 0) || 0;
  return {
    cause: metadata["cause"] ?? "error",
    code: metadata["code"] ?? "",
    message: Buffer.from(metadata["message"] ?? "", "base64url").toString("utf8"),
    attempts: number("attempts"),
    attemptsMax: number("attemptsmax"),
    final: metadata["final"] === "1",
    ...(number("later") === 0 ? {} : { laterS: number("later") }),
    ...(metadata["named"] === undefined ? {} : { named: true }),
    ...(metadata["chunk"] === undefined ? {} : { chunk: number("chunk") }),
    ...(number("failed") === 0 ? {} : { gaps: { failed: number("failed"), plan: metadata["plan"] } }),
  };
}
