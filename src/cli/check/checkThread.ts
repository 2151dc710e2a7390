import { parentPort, workerData } from "node:worker_threads";
import { filesOver } from "../../calculations/files.ts";
import { checkLaws } from "../../calculations/laws/checkLaws.ts";
import { calls } from "../../calculations/laws/subject.ts";
import { loadCalculations } from "../../calculations/registry.ts";
import { ConfigError, InputError, LeasefoldError, messageOf } from "../../model/errors.ts";
import { systemClock } from "../../storage/system.ts";
import { threadPort } from "../../worker/threads/threadTask.ts";
import type { CheckOrder, CheckThreadData, FromCheckThread } from "./checkMessages.ts";

/**
 * The entry of the thread that tries the laws: a user's file is loaded here and nowhere else, so that code which
 * never ends can be ended with it. Each call is counted where the other side sees it, though this one be blocked.
 */
const data = workerData as CheckThreadData;
const say = (message: FromCheckThread): void => parentPort?.postMessage(message);

async function main(): Promise<void> {
  const known = await loadCalculations(data.files);
  const listed = data.name === undefined ? known.list().at(-1) : known.get(data.name);
  if (listed === undefined) throw new Error("the registry is empty");
  say({ say: "loaded", name: listed.name, params: known.describeParams(listed) });
  const order = await new Promise<CheckOrder>((resolve) => parentPort?.once("message", resolve));
  const parsed = known.parseParams(listed, order.raw);
  const { access } = threadPort(data.port);
  /** A plan that reads for long is no call that never returns. */
  const goesOn = (): void => void Atomics.add(data.calls, 0, 1);
  let heapBytes = 0;
  const look = (): number => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    heapBytes = Math.max(heapBytes, heapUsed + arrayBuffers);
    return heapBytes;
  };
  const { count, chunks, chunkMs, result } = await checkLaws(listed, parsed, {
    ...order,
    files: filesOver({
      list: (source, cursor) => access.list(source, cursor).finally(goesOn),
      read: (file, from, to) => access.read(file, from, to).finally(goesOn),
    }),
    clock: systemClock,
    heapBytes: look,
    heapBytesMax: data.heapBytesMax,
    packLimitMs: data.packLimitMs,
    onCall(call, index) {
      Atomics.store(data.calls, 1, calls.indexOf(call));
      Atomics.store(data.calls, 2, index);
      goesOn();
    },
    onLaw: (law) => say({ say: "trying", law }),
    onFinding(finding) {
      look();
      say({ say: "found", finding });
    },
  });
  // A law is broken by parameters that are no JSON; then there is no result either.
  const params = result === undefined ? {} : JSON.parse(JSON.stringify(parsed));
  say({ say: "tried", count, chunks, chunkMs, params, result });
}

main()
  .catch((error: unknown) => {
    const kind = error instanceof InputError ? "input" : error instanceof ConfigError ? "setting" : "bug";
    const code = error instanceof LeasefoldError ? error.code : "internal";
    say({ say: "failed", kind, code, message: messageOf(error) });
  })
  // The port would keep the thread.
  .finally(() => data.port.close());
