import { InputError, StorageError } from "../../engine/model/errors.ts";
import type { Clock, ContentLease, Random } from "../../engine/storage/ports.ts";
import { oneAtATime } from "../../engine/storage/system.ts";
import { cappedCall } from "../cappedCall.ts";
import { classifyFailure, endsLease, storageCodeOf } from "../leaseFailure.ts";
import type { LeasesSettings } from "../settings.ts";

/** Contents are for what the holders agree on, not for data: all of it is read and written each time. */
const contentBytesMax = 4 * 1024 * 1024;

/** What a leased blob holds. */
export interface Content {
  readonly body: Uint8Array;
  readonly etag: string;
  text(): string;
}

export type NextContent =
  | Uint8Array
  | string
  | ((now: Content) => Uint8Array | string | Promise<Uint8Array | string>);

/** One named lease and what its calls need. */
export interface LeaseParts {
  readonly name: string;
  readonly blob: ContentLease;
  readonly clock: Clock;
  readonly random: Random;
  readonly holder: string;
  readonly settings: LeasesSettings;
}

/** The hold that protects the content. */
interface Held {
  readonly leaseId: string;
  readonly signal: AbortSignal;
  assertHeld(): void;
  /** Storage answered that the lease is not ours. */
  onLost(error: unknown): void;
}

export const contentOf = (body: Uint8Array, etag: string): Content => ({
  body,
  etag,
  text: () => new TextDecoder().decode(body),
});

/** Reads and replaces the content of a leased blob, as long as the lease is held. */
export function leaseContents({ name, blob, clock, random, holder, settings }: LeaseParts, held: Held) {
  /** Retries until a reply is definite; the lease's end is definite as well. */
  const definite = async <T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    let error: unknown;
    for (let attempt = 1; attempt <= settings.tries; attempt += 1) {
      if (attempt > 1) await clock.sleep(settings.renewAgainMs, held.signal);
      held.assertHeld();
      const reply = await cappedCall(clock, settings.contentCapMs, call, held.signal);
      held.assertHeld();
      if (reply.kind === "ok") return reply.value;
      error = reply.error;
      if (endsLease(error)) throw error;
    }
    if (error instanceof StorageError) throw error;
    throw new StorageError("busy", "", undefined, `no answer for the lease ${name}`, error);
  };
  const read = async () => {
    const seen = await definite((signal) => blob.readContent({ signal }));
    if (seen.kind === "found") return seen;
    const gone = new StorageError("refused", "BlobNotFound", 404, `the blob of the lease ${name} is gone`);
    held.onLost(gone);
    held.assertHeld();
    throw gone;
  };

  const replace = async (next: NextContent): Promise<Content> => {
    const now = await read();
    const given = typeof next === "function" ? await next(contentOf(now.body, now.etag)) : next;
    const body = typeof given === "string" ? new TextEncoder().encode(given) : given.slice();
    if (body.byteLength > contentBytesMax) {
      const rule = `has ${body.byteLength} bytes; at most ${contentBytesMax} are allowed`;
      throw new InputError("invalid", "content-too-large", `The content of the lease ${name} ${rule}.`);
    }
    // Different with every update: only this tells whether what a read finds after a lost reply is ours.
    const mark = random.uuid();
    const metadata = { update: mark, holder: Buffer.from(holder, "utf8").toString("base64url") };
    try {
      const written = await definite((signal) =>
        blob.writeContent(held.leaseId, body, { ifMatch: now.etag, metadata, signal }),
      );
      return contentOf(body, written.etag);
    } catch (error) {
      const after = storageCodeOf(error) === "ConditionNotMet" ? await read() : undefined;
      if (after?.metadata["update"] === mark) return contentOf(body, after.etag);
      if (classifyFailure(error) === "loss") {
        held.onLost(error);
        held.assertHeld();
      }
      throw error;
    }
  };

  const inTurn = oneAtATime();
  return {
    async read(): Promise<Content> {
      const seen = await read();
      return contentOf(seen.body, seen.etag);
    },
    update: (next: NextContent): Promise<Content> => inTurn(() => replace(next)),
  };
}
