import { InputError } from "../model/errors.ts";
import type { AskedCalculation } from "./askedCalculation.ts";
import type { Session } from "./cli.ts";
import { uploadShown } from "./uploadShown.ts";

type Params = Readonly<Record<string, unknown>>;

/**
 * The parameters with what was uploaded as their `source`. All other parameters are checked first: a mistake in one is
 * told before gigabytes are sent, and not after.
 */
export async function uploadedSource(
  session: Session,
  calculation: AskedCalculation,
  params: Params,
  path: string,
): Promise<Params> {
  const refuse = (rule: string): never => {
    throw new InputError("invalid", "bad-option", `--upload: ${rule}`, { field: "upload" });
  };
  if (!calculation.params.some(({ name }) => name === "source"))
    refuse(`${calculation.name} reads no files; it has no parameter source`);
  if ("source" in params) refuse("gives the source itself; leave --source out");
  calculation.check({ ...params, source: "leasefold-inputs/" });
  const { source } = await uploadShown(session, [path]);
  return { ...params, source };
}
