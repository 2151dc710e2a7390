/**
 * The limits of throughput of the real service, as buckets that fill with time: one for the account, one for each
 * queue, one for each blob. A request that finds one of its buckets empty is refused (503, `ServerBusy`).
 *
 * Sources: learn.microsoft.com/azure/storage/queues/scalability-targets (2,000 messages/s a queue) and
 * …/storage/blobs/scalability-targets (500 requests/s a blob), …/storage/common/scalability-targets-standard-account
 * (20,000 requests/s an account). They do not say what counts as a message, so both readings can be tried.
 */
export interface ServiceLimits {
  readonly accountPerS: number;
  readonly queuePerS: number;
  readonly blobPerS: number;
  /** What counts against a queue: the put of each message only, or its put, its get and its delete. */
  readonly queueCounts: "puts" | "calls";
}

export const azureLimits: ServiceLimits = {
  accountPerS: 20_000,
  queuePerS: 2_000,
  blobPerS: 500,
  queueCounts: "calls",
};

export const noLimits: ServiceLimits = {
  accountPerS: Number.POSITIVE_INFINITY,
  queuePerS: Number.POSITIVE_INFINITY,
  blobPerS: Number.POSITIVE_INFINITY,
  queueCounts: "puts",
};

/** What one request asks of the service. */
interface Demand {
  /** `undefined` for what no single blob or queue answers, such as a list. */
  readonly queue?: string | undefined;
  readonly blob?: string | undefined;
  readonly isPut: boolean;
}

export interface Throttle {
  /** Takes what the request needs at this moment; which limit refused it, or undefined where it passes. */
  refusal(demand: Demand, nowMs: number): "account" | "queue" | "blob" | undefined;
  /** Requests refused so far, by limit. */
  readonly refused: { account: number; queue: number; blob: number };
}

export function throttle(limits: ServiceLimits): Throttle {
  const refused = { account: 0, queue: 0, blob: 0 };
  const account = bucket(limits.accountPerS);
  const queues = new Map<string, Bucket>();
  const blobs = new Map<string, Bucket>();
  let blobsSinceMs = 0;
  const of = (all: Map<string, Bucket>, name: string, perS: number): Bucket => {
    const known = all.get(name);
    if (known !== undefined) return known;
    const made = bucket(perS);
    all.set(name, made);
    return made;
  };
  return {
    refused,
    refusal({ queue, blob, isPut }, nowMs) {
      // Most blobs are written once; a bucket that was left alone for a while would be full anyway.
      if (nowMs - blobsSinceMs > 10_000) {
        blobs.clear();
        blobsSinceMs = nowMs;
      }
      const counted = queue !== undefined && (isPut || limits.queueCounts === "calls");
      const limit = !account.take(nowMs)
        ? "account"
        : counted && !of(queues, queue, limits.queuePerS).take(nowMs)
          ? "queue"
          : blob !== undefined && !of(blobs, blob, limits.blobPerS).take(nowMs)
            ? "blob"
            : undefined;
      if (limit !== undefined) refused[limit] += 1;
      return limit;
    },
  };
}

interface Bucket {
  take(nowMs: number): boolean;
}

/** Holds what half a second brings, so that a short burst above the mean rate passes. */
function bucket(perS: number): Bucket {
  const depth = perS / 2;
  let level = depth;
  let atMs = 0;
  return {
    take(nowMs) {
      if (perS === Number.POSITIVE_INFINITY) return true;
      level = Math.min(depth, level + ((nowMs - atMs) * perS) / 1_000);
      atMs = nowMs;
      if (level < 1) return false;
      level -= 1;
      return true;
    },
  };
}
