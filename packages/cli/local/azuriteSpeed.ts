/**
 * Functions of the emulator that are replaced by equivalents which do less work, for the version that the lockfile names. Where a
 * later emulator lacks one, it is left as it is.
 *
 * Not promised: any other answer than the emulator's own. `packages/cli/test/emulator/azuriteSpeed.test.ts` compares both, byte by byte.
 */
type Load = (module: string) => unknown;
type Row = Readonly<Record<string, unknown>>;

/** Of LokiJS, which keeps the emulator's records. */
interface Collection {
  readonly data: readonly Row[];
  readonly binaryIndices: Readonly<Record<string, unknown>>;
  remove(row: Row | undefined): void;
  removeBatchByPositions(places: readonly number[]): void;
  removeBatch(batch: readonly unknown[]): void;
  update(found: Row | readonly Row[]): unknown;
}
type Condition = Readonly<Record<string, unknown>>;
interface Resultset {
  readonly filterInitialized: boolean;
  readonly collection: Collection;
  findAnd(conditions: readonly Condition[]): unknown;
  $and(conditions: readonly Condition[]): unknown;
}
interface Loki {
  readonly Collection: { readonly prototype: Collection };
  readonly Resultset: { readonly prototype: Resultset };
  readonly prototype: { addCollection(name: string, options?: object): unknown };
}

/**
 * The batch functions of LokiJS sort every index anew for a single record, or read all records for none, and a search scans all
 * records if its first condition has no index: with 10,000 blobs a delete took 92 ms and now takes 1.3. These functions only choose
 * the method for few records, or the order of conditions.
 */
export function quickenRecords(load: Load): void {
  const { Collection, Resultset } = load("lokijs") as Loki;
  const records = Collection.prototype;
  replace(
    records,
    "removeBatchByPositions",
    (own) =>
      function (places) {
        if (places.length === 1) this.remove(this.data[places[0] as number]);
        else if (places.length > 1) own.call(this, places);
      },
  );
  replace(
    records,
    "removeBatch",
    (own) =>
      function (batch) {
        if (batch.length > 0) own.call(this, batch);
      },
  );
  replace(
    records,
    "update",
    (own) =>
      function (found) {
        if (!Array.isArray(found)) return own.call(this, found);
        return found.length === 0 ? undefined : own.call(this, found.length === 1 ? found[0] : found);
      },
  );
  const telling = ["messageId", "name", "blobName"];
  const results = Resultset.prototype;
  replace(
    results,
    "findAnd",
    (own) =>
      function (conditions) {
        const indices = this.filterInitialized ? {} : this.collection.binaryIndices;
        const indexed = (one: Condition) =>
          telling.some((key) => typeof one[key] === "string" && key in indices);
        const first =
          conditions.find(indexed) ?? ("name" in indices ? conditions.map(rangeOf).find(Boolean) : undefined);
        const sorted =
          first === undefined ? conditions : [first, ...conditions.filter((one) => one !== first)];
        return own.call(this, sorted);
      },
  );
  replace(results, "$and", () => results.findAnd);
}

/**
 * A list tries its prefix as a pattern on all names. With a slash in it no such name is a number, which the index sorts apart, so
 * that a range of the index has them.
 */
function rangeOf({ name }: Condition): Condition | undefined {
  const { $regex: pattern, ...more } = Object(name) as { $regex?: unknown };
  if (typeof pattern !== "string" || Object.keys(more).length > 0) return undefined;
  const prefix = pattern.slice(1).replace(/\\(.)/gs, "$1");
  const again = `^${prefix.replace(/[-/\\^$*+?.()|[\]{}]/g, "\\$&")}`;
  if (again !== pattern || !prefix.includes("/")) return undefined;
  return { name: { $between: [prefix, `${prefix}\uffff`] } };
}

interface Message {
  readonly accountName: string;
  readonly queueName: string;
  readonly expirationTime: Date;
}
interface QueueStore {
  readonly db: { getCollection(name: string): { readonly data: readonly Message[] } };
  readonly MESSAGES_COLLECTION: string;
  insertMessage(message: Message, ...more: unknown[]): unknown;
  getMessages(account: string, queue: string, ...more: unknown[]): unknown;
  clearExpiredMessages(...which: unknown[]): Promise<void>;
}

/**
 * Messages have indices on their account and queue, which all have in common, and on a property that none has: each insert, update
 * and delete reads all messages to keep those. Every answer over messages is sorted or about one message, so no order depends on an
 * index. Names of equal text become one string, which compares by its address. And each call searches all messages for expired
 * ones, although the earliest expiry is known; it is read again once it has passed.
 */
export function quickenMessages(load: Load): void {
  const loki = (load("lokijs") as Loki).prototype;
  replace(
    loki,
    "addCollection",
    (own) =>
      function (name, options) {
        const ofMessages = name === "$MESSAGES_COLLECTION$";
        return own.call(this, name, ofMessages ? { ...options, indices: ["messageId"] } : options);
      },
  );
  const names = new Map<string, string>();
  const shared = (name: string): string => {
    if (names.size > 1_000) names.clear();
    if (!names.has(name)) names.set(name, name);
    return names.get(name) as string;
  };
  const { default: store } = load("./queue/persistence/LokiQueueMetadataStore") as {
    default: { prototype: QueueStore };
  };
  const earliest = new WeakMap<QueueStore, number>();
  replace(
    store.prototype,
    "insertMessage",
    (own) =>
      function (message, ...more) {
        const { accountName, queueName, expirationTime } = message;
        const known = earliest.get(this);
        if (known !== undefined) earliest.set(this, Math.min(known, expirationTime.getTime()));
        const copy = { ...message, accountName: shared(accountName), queueName: shared(queueName) };
        return own.call(this, copy, ...more);
      },
  );
  replace(
    store.prototype,
    "getMessages",
    (own) =>
      function (account, queue, ...more) {
        return own.call(this, shared(account), shared(queue), ...more);
      },
  );
  replace(
    store.prototype,
    "clearExpiredMessages",
    (own) =>
      async function (...which) {
        if (Date.now() < (earliest.get(this) ?? 0)) return;
        await own.apply(this, which);
        const { data } = this.db.getCollection(this.MESSAGES_COLLECTION);
        const next = data.reduce((least, one) => Math.min(least, +new Date(one.expirationTime)), Infinity);
        earliest.set(this, next);
      },
  );
}

type ArgumentsOf<Method> = Method extends (...given: infer Given) => unknown ? Given : never;
type AnswerOf<Method> = Method extends (...given: never) => infer Answer ? Answer : never;

/** Puts a method in place of an object's own, if it has one of that name. */
function replace<T, Name extends keyof T>(
  object: T,
  name: Name,
  make: (own: T[Name]) => (this: T, ...given: ArgumentsOf<T[Name]>) => AnswerOf<T[Name]>,
): void {
  if (typeof object[name] === "function") object[name] = make(object[name]) as T[Name];
}
