import { registerHooks } from "node:module";
import type { LogLevel } from "./instanceMessages.ts";

/**
 * The module `@azure/functions-core`, which the real language worker provides and no registry has. The library
 * `@azure/functions` registers its functions and hooks through it, so bindings, converters and handlers are the real
 * library's. It holds only what version 4.16 calls; `packages/cli/test/local/app.test.ts` runs both together.
 */
export interface Binding {
  readonly type: string;
  readonly direction: "in" | "out";
  readonly [option: string]: unknown;
}

interface FunctionMetadata {
  readonly name: string;
  readonly bindings: Readonly<Record<string, Binding>>;
}

type Callback = (...inputs: unknown[]) => unknown;
/** It is given a plain object, to which the library writes. */
type Hook = (context: Record<string, unknown>) => unknown;

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
}

interface InvocationModel {
  getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], callback: Callback): Promise<unknown>;
  getResponse(context: unknown, result: unknown): Promise<InvocationResponse>;
}

export interface ProgrammingModel {
  getCapabilities(capabilities: Record<string, string>): Promise<Record<string, string>>;
  getInvocationModel(context: InvocationContext): InvocationModel;
}

interface InvocationContext {
  readonly invocationId: string;
  readonly metadata: FunctionMetadata;
  readonly request: InvocationRequest;
  readonly state: "invocation";
  log(level: LogLevel, category: string, message: string): void;
}

/** What an app registered while it was loaded. */
export type Registrations = ReturnType<typeof makeCoreModule>["registrations"];

const specifier = "@azure/functions-core";
const url = "leasefold:functions-core";
const shared = Symbol.for(url);

/** The module as the app sees it, and what was registered. `log` gets the library's own lines. */
export function makeCoreModule(log: (level: LogLevel, message: string) => void) {
  const functions = new Map<string, RegisteredFunction>();
  const terminateHooks: Hook[] = [];
  let model: ProgrammingModel | undefined;
  let closed = false;
  const mustBeOpen = (what: string) => {
    if (closed) throw new Error(`${what} cannot be registered after the app has started`);
  };

  const module = {
    version: "3.14.1",
    hostVersion: "4.1052.200",
    registerFunction(metadata: FunctionMetadata, callback: Callback) {
      mustBeOpen(`The function "${metadata.name}"`);
      if (functions.has(metadata.name)) {
        throw new Error(`A function named "${metadata.name}" is registered already`);
      }
      functions.set(metadata.name, { metadata, callback });
    },
    registerHook(name: string, hook: Hook) {
      if (name !== "appTerminate") throw new RangeError(`There is no hook "${name}" here`);
      terminateHooks.push(hook);
    },
    setProgrammingModel(value: ProgrammingModel) {
      mustBeOpen("A programming model");
      model = value;
    },
    getProgrammingModel: () => model,
    log: (level: LogLevel, _category: string, message: string) => log(level, message),
  };
  const registrations = {
    functions: functions as ReadonlyMap<string, RegisteredFunction>,
    terminateHooks: terminateHooks as readonly Hook[],
    model: (): ProgrammingModel | undefined => model,
    /** Registering throws from now on, as in the real worker after its start. */
    close(): void {
      closed = true;
    },
  };
  return { module, registrations };
}

/** Makes `@azure/functions-core` mean `module` in this thread. Must run before the app is loaded. */
export function installCoreModule(module: object): void {
  (globalThis as Record<symbol, unknown>)[shared] = module;
  const source = `module.exports = globalThis[Symbol.for(${JSON.stringify(url)})];`;
  const commonjs = { format: "commonjs", shortCircuit: true } as const;
  registerHooks({
    resolve: (name, context, next) => (name === specifier ? { url, ...commonjs } : next(name, context)),
    load: (address, context, next) => (address === url ? { source, ...commonjs } : next(address, context)),
  });
}

/**
 * A value that the Functions host and its language worker exchange: exactly one member is set. Only members that the
 * embedded host sends or reads are listed.
 */
export interface TypedData {
  readonly json?: string;
  readonly string?: string;
  readonly bytes?: Uint8Array;
  readonly http?: HttpData;
}

type NullableTexts = Readonly<Record<string, { readonly value: string }>>;

export interface HttpData {
  readonly method?: string;
  readonly url?: string;
  readonly nullableHeaders?: NullableTexts;
  readonly nullableQuery?: NullableTexts;
  readonly nullableParams?: NullableTexts;
  readonly body?: TypedData;
  /** A number as text. */
  readonly statusCode?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const jsonData = (value: unknown): TypedData => ({ json: JSON.stringify(value) });

/**
 * A JSON value as the host sends it: texts as they are, everything else as JSON (`GrpcMessageConversionExtensions.ToRpc` of
 * Azure/azure-functions-host).
 */
export const dataOf = (value: unknown): TypedData =>
  typeof value === "string" ? { string: value } : jsonData(value);

/**
 * The same data for the library, which tries to parse each text as JSON and takes the text if that throws. A text that
 * cannot be JSON comes as JSON already, for an error with its stack costs more than all the rest of the conversion.
 */
export const parseable = (data: TypedData): TypedData =>
  data.string === undefined || mayBeJson.test(data.string) ? data : jsonData(data.string);

/** All that JSON allows: a text, list or object, or nothing but a number or a constant. */
const mayBeJson = /^\s*(?:["[{]|(?:[-+.\deE]+|true|false|null)\s*$)/;
