import { randomUUID } from "node:crypto";
import { BlobServiceClient } from "@azure/storage-blob";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { type ContenderProcess, startContender, type Told } from "../support/contenderProcess.ts";
import { type FaultProxy, startFaultProxy } from "../support/faultProxy.ts";
import { acceptedWrites, termsThatWrote } from "../support/stateAudit.ts";

/**
 * Real processes on a real emulator, stopped, killed and blocked over the end of their lease. A proxy sees every
 * write that storage accepted; nobody's word counts for that. What Azurite cannot show (after expiry it lets any
 * id renew) is left to the simulation.
 */
let azurite: Azurite;
let proxy: FaultProxy;
const started: ContenderProcess[] = [];

beforeAll(async () => {
  azurite = await startAzurite();
  proxy = await startFaultProxy(azurite);
});
afterAll(async () => {
  await Promise.all(started.map((one) => one.end()));
  await proxy?.close();
  await azurite?.stop();
});

interface Duel {
  readonly first: ContenderProcess;
  readonly second: ContenderProcess;
  readonly names: ReturnType<typeof namesOf>;
  /** Terms in the order in which their writes were accepted; throws where an old one came after a new one. */
  terms(): readonly number[];
}

const sealed = (line: Told): boolean => line.kind === "sealed";
const sealedAbove =
  (term: number) =>
  (line: Told): boolean =>
    line.kind === "sealed" && (line.term ?? 0) > term;

/** Two contenders in a namespace of their own; the first leads. */
async function duel(more: { readonly breakAfterMs: number; readonly reckless?: boolean }): Promise<Duel> {
  const namespace = `t-${randomUUID().slice(0, 12)}`;
  const { connectionString } = proxy;
  const start = (holder: string): ContenderProcess => {
    const one = startContender({ connectionString, namespace, holder, ...more });
    started.push(one);
    return one;
  };
  const first = start("first");
  await first.until(sealed);
  const second = start("second");
  await second.until(({ kind }) => kind === "ready");
  const names = namesOf(namespace);
  return {
    ...{ first, second, names },
    terms: () =>
      termsThatWrote(acceptedWrites(proxy.exchanges.filter(({ url }) => url.includes(`/${names.runs}/`)))),
  };
}

const ended = ({ kind, outcome }: Told): boolean => kind === "outcome" && outcome === "led";
const unhandled = (...all: readonly ContenderProcess[]) =>
  all.flatMap(({ told }) => told.filter(({ kind }) => kind === "unhandled"));

afterEach(() => {
  expect(unhandled(...started)).toEqual([]);
});

describe.concurrent("of two real processes", () => {
  it.each([0, 4_000])(
    "one whose event loop is blocked for 20 s is deposed cleanly (threshold %i)",
    async (breakAfterMs) => {
      const { first, second, terms } = await duel({ breakAfterMs });
      first.blockFor(20_000);
      await second.until(sealed);
      await first.until(({ kind }) => kind === "unblocked");
      // Its own clocks tell it, before any answer does.
      expect(await first.until(ended)).toMatchObject({ term: 1, cause: "stop-work" });
      expect(terms().slice(0, 2)).toEqual([1, 2]);
    },
  );

  it("one that is killed while it leads is replaced in seconds, with early takeover", async () => {
    const { first, second, terms } = await duel({ breakAfterMs: 4_000 });
    first.signal("SIGKILL");
    // How fast it is the bench measures.
    await second.until(sealed);
    expect(terms().slice(0, 2)).toEqual([1, 2]);
  });

  it("one that is killed while it leads is replaced after its lease, without", async () => {
    const { first, second, terms } = await duel({ breakAfterMs: 0 });
    const killedMs = performance.now();
    first.signal("SIGKILL");
    const { atMs } = await second.until(sealed);
    expect(atMs - killedMs).toBeGreaterThan(8_000);
    expect(terms().slice(0, 2)).toEqual([1, 2]);
  });

  it("one that is stopped over the end of its lease knows it at once when it goes on", async () => {
    const { first, second, terms } = await duel({ breakAfterMs: 0 });
    first.signal("SIGSTOP");
    await second.until(sealed);
    first.signal("SIGCONT");
    expect(await first.until(ended)).toMatchObject({ term: 1, cause: "stop-work" });
    expect(terms().slice(0, 2)).toEqual([1, 2]);
  });

  it("one that goes on without asking whether it still leads has not one more write accepted", async ({
    expect,
  }) => {
    const { first, second, terms } = await duel({ breakAfterMs: 4_000, reckless: true });
    first.signal("SIGSTOP");
    await second.until(sealed);
    const before = proxy.exchanges.length;
    first.signal("SIGCONT");
    await first.until(ended);
    const refused = () =>
      proxy.exchanges.slice(before).filter(({ answers }) => answers.some(({ status }) => status === 412));
    await expect.poll(() => refused().length).toBeGreaterThan(0);
    expect(terms()).toEqual([1, 2]);
  });

  it("one leads on after an operator broke the lease, deleted the blob, and deleted the container", async ({
    expect,
  }) => {
    const { first, second, names, terms } = await duel({ breakAfterMs: 4_000 });
    const service = BlobServiceClient.fromConnectionString(azurite.connectionString);
    const home = service.getContainerClient(names.coordination);
    const blob = home.getBlobClient("leader");
    const operations = [
      () => blob.getBlobLeaseClient().breakLease(0),
      // A person with a storage browser breaks the lease first; the blob cannot be deleted under it, and a
      // contender may be quicker than that person.
      async () => {
        for (let deleted = false; !deleted; ) {
          await blob.getBlobLeaseClient().breakLease(0);
          deleted = await blob.delete().then(
            () => true,
            () => false,
          );
        }
      },
      () => home.delete(),
    ];
    for (const operate of operations) {
      const before = terms().at(-1) ?? 0;
      await operate();
      await Promise.race([first, second].map((one) => one.until(sealedAbove(before))));
    }
    await expect.poll(() => terms().length).toBeGreaterThanOrEqual(4);
  });

  it("one that is asked to stop hands over, and nobody waits for its lease to end", async () => {
    const { first, second, terms } = await duel({ breakAfterMs: 0 });
    first.signal("SIGTERM");
    expect(await first.until(ended)).toMatchObject({ cause: "stopping", handedOver: true });
    await first.until(({ kind }) => kind === "released");
    await second.until(sealed);
    expect(terms()).toEqual([1, 2]);
  });
});
