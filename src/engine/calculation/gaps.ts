import { CalculationError, type FailedChunk, failRunCode, laterCode, mayPass } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { type Range, sizeOf } from "../model/packs.ts";

/** Which chunks may fail without their pack (rule *failed chunks*). */
export interface GapsAllowed {
  /** So many of a pack at most, and never all. */
  readonly most: number;
  /** No further attempt follows, at any chunk; until then only an error that no attempt follows makes a gap. */
  readonly last: boolean;
  /** No chunk may ask for a later attempt any more. */
  readonly asksOver?: boolean | undefined;
  /** These are not computed: earlier sends ended at them. */
  readonly excluded?: readonly FailedChunk[] | undefined;
}

/** The chunks of a pack that fail in one attempt, ascending. */
export function gapsIn(pack: Range & { readonly gaps?: GapsAllowed | undefined }) {
  const { most = 0, last = false, asksOver = false, excluded = [] } = pack.gaps ?? {};
  const failed = new Map<number, CalculationError>();

  const firstWith = (code: string): CalculationError | undefined => {
    for (const error of failed.values()) if (error.code === code) return error;
    return undefined;
  };

  /** Throws where the pack fails with it. */
  function add(index: number, error: CalculationError): void {
    // Nobody is told the later messages, which may quote whole inputs.
    const kept = failed.size < limits.gapsToldMax ? undefined : firstWith(error.code);
    failed.set(index, kept ?? error);
    if (failed.size <= most && failed.size < sizeOf(pack)) return;
    // Another attempt may do better where some of the errors may pass.
    const all = [...failed.values()];
    throw all.find(mayPass) ?? all[0] ?? error;
  }

  return {
    /** Whether a chunk is excluded; it then is a gap. */
    excludes(index: number): boolean {
      const found = excluded.find(({ chunk }) => chunk === index);
      if (found !== undefined) add(index, new CalculationError(found.code, found.message));
      return found !== undefined;
    },
    /** Makes a chunk that failed a gap, or throws where the pack fails with it. */
    fails(index: number, error: unknown): void {
      if (!(error instanceof CalculationError) || pack.gaps === undefined) throw error;
      if (error.code === failRunCode) throw error;
      const over = last || error.details["over"] === true;
      if (error.code === laterCode ? !asksOver : !over && mayPass(error)) throw error;
      add(index, error);
    },
    errorOf: (index: number): CalculationError | undefined => failed.get(index),
    told: (): FailedChunk[] =>
      [...failed]
        .sort(([a], [b]) => a - b)
        .map(([chunk, { code, message }], at) => ({
          ...{ chunk, code },
          message: at < limits.gapsToldMax ? message.slice(0, limits.errorCharactersMax) : "",
        })),
  };
}
