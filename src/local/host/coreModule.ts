import { registerHooks } from "node:module";
import { ConfigError } from "../../model/errors.ts";
import type { LogLevel } from "../instanceMessages.ts";
import type { TypedData } from "./typedData.ts";

/**
 * The module `@azure/functions-core`, which the real language worker provides and no registry has. The library
 * `@azure/functions` registers its functions and hooks through it, so bindings, converters and handlers are the
 * real library's. Only what version 4.16 calls is here; `test/local/app.test.ts` holds both together.
 */
export interface Binding {
  readonly type: string;
  readonly direction: "in" | "out";
  readonly [option: string]: unknown;
}

export interface FunctionMetadata {
  readonly name: string;
  readonly bindings: Readonly<Record<string, Binding>>;
}

export type Callback = (...inputs: unknown[]) => unknown;
/** The library wraps this plain object and writes to it. */
export type HookContext = Record<string, unknown>;
export type Hook = (context: HookContext) => unknown;

export interface RegisteredFunction {
  readonly metadata: FunctionMetadata;
  readonly callback: Callback;
}

export interface InvocationRequest {
  readonly inputData: readonly { readonly name: string; readonly data: TypedData }[];
  readonly triggerMetadata?: Readonly<Record<string, TypedData>>;
  readonly traceContext?: object;
}

export interface InvocationResponse {
  readonly returnValue?: TypedData | null;
  readonly outputData?: readonly { readonly name: string; readonly data: TypedData }[];
}

export type InvocationState = "preInvocationHooks" | "invocation" | "postInvocationHooks";

export interface InvocationModel {
  getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], callback: Callback): Promise<unknown>;
  getResponse(context: unknown, result: unknown): Promise<InvocationResponse>;
}

export interface ProgrammingModel {
  getCapabilities(capabilities: Record<string, string>): Promise<Record<string, string>>;
  getInvocationModel(context: {
    readonly invocationId: string;
    readonly metadata: FunctionMetadata;
    readonly request: InvocationRequest;
    state?: InvocationState;
    log(level: LogLevel, category: string, message: string): void;
  }): InvocationModel;
}

/** What an app registered while it was loaded. */
export interface Registrations {
  readonly functions: ReadonlyMap<string, RegisteredFunction>;
  readonly hooks: (name: string) => readonly Hook[];
  readonly model: () => ProgrammingModel | undefined;
  /** Registering throws from now on, as in the real worker after its start. */
  readonly close: () => void;
}

const hookNames = ["appStart", "appTerminate", "preInvocation", "postInvocation", "log"];
const specifier = "@azure/functions-core";
const url = "leasefold:functions-core";
const shared = Symbol.for(url);

class Disposable {
  readonly #dispose: () => void;
  constructor(dispose: () => void) {
    this.#dispose = dispose;
  }
  dispose(): void {
    this.#dispose();
  }
}

/** The module as the app sees it, and what it collected. `log` hears the library's own lines. */
export function makeCoreModule(log: (level: LogLevel, message: string) => void) {
  const functions = new Map<string, RegisteredFunction>();
  const hooks = new Map<string, Hook[]>(hookNames.map((name) => [name, []]));
  let model: ProgrammingModel | undefined;
  let closed = false;
  const mustBeOpen = (what: string) => {
    if (closed) throw new Error(`${what} cannot be registered after the app has started`);
  };

  const module = {
    version: "3.14.1",
    hostVersion: "4.1052.200",
    Disposable,
    registerFunction(metadata: FunctionMetadata, callback: Callback) {
      mustBeOpen(`The function "${metadata.name}"`);
      if (functions.has(metadata.name)) {
        throw new Error(`A function named "${metadata.name}" is registered already`);
      }
      functions.set(metadata.name, { metadata, callback });
      return new Disposable(() => functions.delete(metadata.name));
    },
    registerHook(name: string, hook: Hook) {
      const registered = hooks.get(name);
      if (!registered) throw new RangeError(`There is no hook "${name}"`);
      registered.push(hook);
      return new Disposable(() => registered.splice(registered.indexOf(hook) >>> 0, 1));
    },
    setProgrammingModel(value: ProgrammingModel) {
      mustBeOpen("A programming model");
      model = value;
    },
    getProgrammingModel: () => model,
    log: (level: LogLevel, _category: string, message: string) => log(level, message),
  };
  const registrations: Registrations = {
    functions,
    hooks: (name) => hooks.get(name) ?? [],
    model: () => model,
    close: () => {
      closed = true;
    },
  };
  return { module, registrations };
}

/** Answers `@azure/functions-core` in this thread with `module`. Must come before the app is loaded. */
export function installCoreModule(module: object): void {
  if (typeof registerHooks !== "function") {
    throw new ConfigError(
      "node-too-old",
      `Node ${process.version} is too old here: 22.15 or later is needed`,
    );
  }
  (globalThis as Record<symbol, unknown>)[shared] = module;
  registerHooks({
    resolve: (name, context, next) =>
      name === specifier ? { url, format: "commonjs", shortCircuit: true } : next(name, context),
    load: (address, context, next) =>
      address === url
        ? {
            format: "commonjs",
            source: `module.exports = globalThis[Symbol.for(${JSON.stringify(url)})];`,
            shortCircuit: true,
          }
        : next(address, context),
  });
}
