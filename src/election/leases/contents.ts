import { InputError, StorageError } from "../../model/errors.ts";
import type { Clock, ContentLease, Random } from "../../storage/ports.ts";
import { cappedCall } from "../cappedCall.ts";
import { judge, storageCodeOf } from "../judge.ts";
import { contentBytesMax, type LeasesSettings } from "./settings.ts";

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

export interface Contents {
  read(): Promise<Content>;
  update(next: NextContent): Promise<Content>;
}

interface ContentPorts {
  readonly blob: ContentLease;
  readonly clock: Clock;
  readonly random: Random;
  readonly holder: string;
}

/** The lease that the contents stand under. */
interface Under {
  readonly name: string;
  readonly signal: AbortSignal;
  assertHeld(): void;
  /** Storage said that the lease is not ours. */
  onLost(error: unknown): void;
}

export const contentOf = (body: Uint8Array, etag: string): Content => ({
  body,
  etag,
  text: () => new TextDecoder().decode(body),
});

/** Reads and replaces the content of a leased blob, as long as the lease is held. */
export function leaseContents(
  { blob, clock, random, holder }: ContentPorts,
  settings: LeasesSettings,
  leaseId: string,
  under: Under,
): Contents {
  /** Repeats what may be repeated until an answer is definite; the lease's end is an answer as well. */
  const ask = async <T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    let error: unknown;
    for (let attempt = 1; attempt <= settings.tries; attempt += 1) {
      if (attempt > 1) await clock.sleep(settings.renewAgainMs, under.signal);
      under.assertHeld();
      const reply = await cappedCall(clock, settings.contentCapMs, call, under.signal);
      under.assertHeld();
      if (reply.kind === "ok") return reply.value;
      error = reply.error;
      if (judge(error) !== "transient") throw error;
    }
    throw error instanceof StorageError
      ? error
      : new StorageError("busy", "", undefined, `no answer for the lease ${under.name}`, error);
  };
  const read = async () => {
    const seen = await ask((signal) => blob.readContent({ signal }));
    if (seen.kind === "found") return seen;
    const gone = new StorageError(
      "refused",
      "BlobNotFound",
      404,
      `the blob of the lease ${under.name} is gone`,
    );
    under.onLost(gone);
    under.assertHeld();
    throw gone;
  };

  const replace = async (next: NextContent): Promise<Content> => {
    const now = await read();
    const given = typeof next === "function" ? await next(contentOf(now.body, now.etag)) : next;
    const body = typeof given === "string" ? new TextEncoder().encode(given) : given.slice();
    if (body.byteLength > contentBytesMax) {
      const rule = `has ${body.byteLength} bytes; at most ${contentBytesMax} are allowed`;
      throw new InputError("invalid", "content-too-large", `The content of the lease ${under.name} ${rule}.`);
    }
    // Other with every update: what a read finds after a lost reply is ours only by this.
    const mark = random.uuid();
    const metadata = { update: mark, holder: Buffer.from(holder, "utf8").toString("base64url") };
    try {
      const written = await ask((signal) =>
        blob.writeContent(leaseId, body, { ifMatch: now.etag, metadata, signal }),
      );
      return contentOf(body, written.etag);
    } catch (error) {
      const code = storageCodeOf(error);
      const after = code === "ConditionNotMet" ? await read() : undefined;
      if (after?.metadata["update"] === mark) return contentOf(body, after.etag);
      if (judge(error) === "loss") {
        under.onLost(error);
        under.assertHeld();
      }
      throw error;
    }
  };

  let last: Promise<unknown> = Promise.resolve();
  return {
    async read() {
      const seen = await read();
      return contentOf(seen.body, seen.etag);
    },
    update(next) {
      const updated = last.then(() => replace(next));
      last = updated.catch(() => {});
      return updated;
    },
  };
}
