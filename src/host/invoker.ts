import { type LeasefoldError, messageOf } from "../engine/model/errors.ts";
import type { Clock, Random } from "../engine/storage/ports.ts";
import {
  type InvocationRequest,
  type InvocationResponse,
  type ProgrammingModel,
  parseable,
  type RegisteredFunction,
  type Registrations,
  type TypedData,
} from "./coreModule.ts";
import type { HeldMessage, Report } from "./instanceMessages.ts";

export type Invoker = ReturnType<typeof makeInvoker>;

/**
 * Runs handlers as the language worker does: arguments, the handler, response; conversions are the real library's, and
 * there are no hooks around an invocation.
 */
export function makeInvoker(options: {
  readonly registrations: Registrations;
  readonly model: ProgrammingModel;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}) {
  const { registrations, model, clock, random, report } = options;
  let running = 0;

  async function run(
    invocation: string,
    { metadata, callback }: RegisteredFunction,
    request: InvocationRequest,
  ) {
    const calls = model.getInvocationModel({
      invocationId: invocation,
      metadata,
      request: { ...request, ...metadataOf(request), traceContext: traceContext(random) },
      state: "invocation",
      log: (level, _category, message) => report({ kind: "log", level, function: metadata.name, message }),
    });
    const { context, inputs } = await calls.getArguments();
    const result = await calls.invokeFunction(context, inputs, callback);
    return calls.getResponse(context, result);
  }

  return {
    running: () => running,
    /** The message of an invocation has another receipt from now on. */
    renewed: (held: HeldMessage) => report({ kind: "renewed", held }),
    /** Tells the app of its end: runs its hooks one after the other; an error of one is logged. */
    async terminateApp(): Promise<void> {
      for (const hook of registrations.terminateHooks) {
        try {
          await hook({ hookData: {} });
        } catch (error) {
          report({ kind: "log", level: "error", message: `A hook appTerminate failed: ${errorText(error)}` });
        }
      }
    },
    /** Never rejects: undefined after an error of the handler, which is logged. */
    async invoke(
      target: RegisteredFunction,
      request: InvocationRequest,
      held?: HeldMessage,
    ): Promise<InvocationResponse | undefined> {
      const invocation = random.uuid();
      const name = target.metadata.name;
      const begunMs = clock.monotonicMs();
      running += 1;
      report({ kind: "started", invocation, function: name, ...(held && { held }) });
      let ok = false;
      try {
        const response = await run(invocation, target, request);
        ok = true;
        return response;
      } catch (error) {
        report({ kind: "log", level: "error", function: name, message: errorText(error) });
        return undefined;
      } finally {
        running -= 1;
        const ms = Math.round(clock.monotonicMs() - begunMs);
        report({ kind: "ended", invocation, function: name, ms, ok });
      }
    },
  };
}

function metadataOf({ triggerMetadata }: InvocationRequest): Pick<InvocationRequest, "triggerMetadata"> {
  if (triggerMetadata === undefined) return {};
  const entries = Object.entries(triggerMetadata).map(([name, data]): [string, TypedData] => [
    name,
    parseable(data),
  ]);
  return { triggerMetadata: Object.fromEntries(entries) };
}

function traceContext(random: Random) {
  const hex = () => random.uuid().replaceAll("-", "");
  return { traceParent: `00-${hex()}-${hex().slice(0, 16)}-00`, traceState: "", attributes: {} };
}

/**
 * The log text of a handler's error. An error of Leasefold is complete in its message, or carries the stack of user code
 * in `details`; any other error shows its stack to its author.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return messageOf(error);
  // The app is another bundle with classes of its own, so the fields tell whose error it is.
  const { retry, details } = error as Partial<LeasefoldError>;
  const ours = retry !== undefined && details !== undefined;
  return ours && details["stack"] === undefined ? error.message : (error.stack ?? error.message);
}
