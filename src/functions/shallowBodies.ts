/**
 * JSON nested some thousand levels deep ends the library's own conversions before a handler runs: they call themselves
 * once for each level of the trigger's metadata, in which the host repeats the body. Whatever the handlers do, such a
 * message would stay in its poison queue for ever. So a model around the library's makes such a body a text that is no
 * JSON, which the handlers record and drop.
 *
 * Not promised: exact levels. Brackets within texts count, too; no message of ours is long enough for that.
 */
export const bodyLevelsMax = 500;

/** The part of the worker's `@azure/functions-core` that this needs. */
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

/** To be called once, after the first function is registered: with it the library sets its model. Without a host it does nothing. */
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

/** In place: the worker goes on with this very context. */
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

/** The language worker provides it, and no registry has it. */
function coreModule(): CoreModule | undefined {
  try {
    return require("@azure/functions-core") as CoreModule;
  } catch {
    return undefined;
  }
}
