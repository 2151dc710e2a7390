/**
 * Levels of nested JSON in a message. With thousands of levels the library's recursive conversions fail before a handler
 * runs, and the message would stay in its poison queue forever. So a model around the library's replaces such a body by a
 * text that is not JSON, which the handlers record and drop.
 *
 * Not promised: exact levels. Brackets within texts count too; no message of Leasefold has that many.
 */
export const bodyLevelsMax = 500;

/** The part of the worker's `@azure/functions-core` that is used here. */
export interface CoreModule {
  getProgrammingModel?(): ProgrammingModel | undefined;
  setProgrammingModel(model: ProgrammingModel): void;
}

interface ProgrammingModel {
  readonly name?: string;
  readonly version?: string;
  getCapabilities(capabilities: unknown): unknown;
  getInvocationModel(context: CoreContext): unknown;
}

interface CoreContext {
  readonly request: {
    readonly inputData?: readonly { data?: TypedData | null }[] | null;
    readonly triggerMetadata?: Record<string, TypedData> | null;
  };
}

interface TypedData {
  readonly string?: string | null;
  readonly json?: string | null;
}

/** Call once, after the first function is registered: then the library has set its model. Does nothing without a host. */
export function shallowBodies(core: CoreModule | undefined = coreModule()): void {
  const model = core?.getProgrammingModel?.();
  if (core === undefined || model === undefined) return;
  core.setProgrammingModel({
    name: model.name ?? "@azure/functions",
    version: model.version ?? "",
    getCapabilities: (capabilities) => model.getCapabilities(capabilities),
    getInvocationModel(context) {
      flatten(context.request);
      return model.getInvocationModel(context);
    },
  });
}

/** Changes the context in place: the worker continues with this object. */
function flatten({ inputData, triggerMetadata }: CoreContext["request"]): void {
  for (const input of inputData ?? []) if (input.data) input.data = shallow(input.data);
  for (const [name, data] of Object.entries(triggerMetadata ?? {})) {
    if (triggerMetadata) triggerMetadata[name] = shallow(data);
  }
}

function shallow(data: TypedData): TypedData {
  const text = data.string ?? data.json ?? "";
  if (text.length <= bodyLevelsMax || levelsOf(text) <= bodyLevelsMax) return data;
  return { string: `nested deeper than ${bodyLevelsMax} levels: ${text.slice(0, 200)}` };
}

function levelsOf(text: string): number {
  let levels = 0;
  let most = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === "{" || character === "[") levels += 1;
    else if (character === "}" || character === "]") levels -= 1;
    if (levels > most) most = levels;
  }
  return most;
}

/** Only the language worker provides this module. */
function coreModule(): CoreModule | undefined {
  try {
    return require("@azure/functions-core") as CoreModule;
  } catch {
    return undefined;
  }
}
