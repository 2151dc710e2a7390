import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connectStorage } from "../../../src/azure/connectStorage.ts";
import { importPeer } from "./installed.ts";
import type { LockCell } from "./plan.ts";

/**
 * One of three processes that want a lock: `lockContender.ts KIND TTL_S WHERE`, where `WHERE` is a connection string or the ports of
 * servers. It prints `ready`, and `leads` with the moment each time that it has the lock. Each holds it as its client's pages say.
 */
interface Etcd {
  readonly Etcd3: new (options: {
    readonly hosts: string;
  }) => { election(name: string, ttlS: number): { campaign(value: string): Campaign } };
}
interface Campaign {
  on(event: "elected", listener: () => void): Campaign;
  on(event: "error", listener: (error: unknown) => void): Campaign;
}
interface IoRedis {
  readonly Redis: new (port: number) => object;
}
interface Lock {
  extend(ttlMs: number): Promise<Lock>;
}
interface Redlock {
  readonly default: new (
    clients: readonly object[],
    options: { readonly retryCount: number },
  ) => { lock(resource: string, ttlMs: number): Promise<Lock> };
}

const [kind, ttl, where = ""] = process.argv.slice(2) as [LockCell["kind"], string, string];
const ttlS = Number(ttl);
const tryEveryMs = 500;

const say = (what: "ready" | "leads"): void =>
  console.log(JSON.stringify({ what, atMs: performance.timeOrigin + performance.now() }));

// It ends with the bench, however that ends.
process.stdin.once("end", () => process.exit(0)).resume();
if (kind === "etcd") await etcd();
else await keepAsking(kind === "redlock" ? await redlock() : await plainLease());

async function etcd(): Promise<void> {
  const { Etcd3 } = await importPeer<Etcd>("etcd3");
  const election = new Etcd3({ hosts: `http://127.0.0.1:${where}` }).election("bench", ttlS);
  say("ready");
  const campaign = (): void => {
    election
      .campaign(randomUUID())
      .on("elected", () => say("leads"))
      .on("error", (error) => {
        console.error(error);
        setTimeout(campaign, tryEveryMs);
      });
  };
  campaign();
}

/** Takes the lock or throws; gives what keeps it, which throws once it is lost. */
type Take = () => Promise<() => Promise<unknown>>;

async function keepAsking(take: Take): Promise<never> {
  say("ready");
  for (;;) {
    try {
      const renew = await take();
      say("leads");
      for (;;) {
        await sleep((ttlS * 1_000) / 3);
        await renew();
      }
    } catch {
      await sleep(tryEveryMs);
    }
  }
}

async function redlock(): Promise<Take> {
  const { Redis } = await importPeer<IoRedis>("ioredis");
  const { default: Redlock } = await importPeer<Redlock>("redlock");
  const clients = where.split(",").map((port) => new Redis(Number(port)));
  const locks = new Redlock(clients, { retryCount: 0 });
  return async () => {
    let lock = await locks.lock("bench", ttlS * 1_000);
    return async () => {
      lock = await lock.extend(ttlS * 1_000);
    };
  };
}

async function plainLease(): Promise<Take> {
  const lease = connectStorage({ connectionString: where }).lease("bench-plain", "leader");
  await lease.ensure();
  return async () => {
    const id = randomUUID();
    await lease.acquire(id, ttlS);
    return () => lease.renew(id);
  };
}
