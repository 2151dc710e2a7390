import { AsyncLocalStorage } from "node:async_hooks";
import { type InvocationContext, output, type StorageQueueOutput } from "@azure/functions";
import { namesOf } from "../../engine/model/names.ts";
import { connection } from "./connection.ts";

/**
 * Wakes that the host sends by an output binding, when a function of the API has ended. The host's own listener polls at once
 * for what its bindings send (azure-sdk-for-net, SharedQueueWatcher of the storage extension), so a submit to an instance that
 * also leads waits for no poll. On Flex Consumption functions of HTTP and of queues are in different instances: there the
 * message waits as any.
 */
export const wakeOutput = (namespace: string): StorageQueueOutput =>
  output.storageQueue({ queueName: namesOf(namespace).wake, connection });

const current = new AsyncLocalStorage<(text: string) => void>();

/** Runs the handler of an invocation, during which `hostWakes` gives its text to the binding. */
export const withWakes = <T>(
  { extraOutputs }: Pick<InvocationContext, "extraOutputs">,
  wakes: StorageQueueOutput,
  handler: () => Promise<T>,
): Promise<T> => current.run((text) => extraOutputs.set(wakes, text), handler);

/** False outside of an invocation of the API. */
export function hostWakes(text: string): boolean {
  current.getStore()?.(text);
  return current.getStore() !== undefined;
}
