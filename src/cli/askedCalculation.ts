import type { DescribedCalculation } from "../client/describeCalculations.ts";
import type { RunRequest } from "../client/runRequest.ts";
import { type Submitted, submit } from "../client/submit.ts";
import type { Session } from "./cli.ts";
import { fileAsked, nameAsked } from "./knownCalculations.ts";

/** The calculation that a command line names, wherever its code is. */
export interface AskedCalculation extends DescribedCalculation {
  /** Throws `InputError` for parameters that are seen to be wrong before anything is sent. */
  check(params: Readonly<Record<string, unknown>>): void;
  submit(request: Omit<RunRequest, "calculation">): Promise<Submitted>;
}

/** By a file, or by a name that is known here, or else to the instances that run here. Throws `InputError`. */
export async function askedCalculation(session: Session, asked: string): Promise<AskedCalculation> {
  const { cli } = session;
  const file = fileAsked(cli.folder, asked);
  const calculations = await cli.calculations(file);
  const name = nameAsked(calculations, asked, file);
  if (!calculations.list().some((one) => one.name === name)) {
    const found = await ofInstances(session, name);
    if (found !== undefined) return found;
  }
  const calculation = calculations.get(name);
  return {
    name,
    summary: calculation.summary,
    params: calculations.describeParams(calculation),
    check: (params) => void calculations.parseParams(calculation, params),
    submit: async (request) =>
      submit({ ...(await session.client()), calculations }, { ...request, calculation: name }),
  };
}

async function ofInstances(session: Session, name: string): Promise<AskedCalculation | undefined> {
  const instances = await session.instances();
  const found = (await instances?.calculations())?.find((one) => one.name === name);
  if (instances === undefined || found === undefined) return undefined;
  return {
    ...found,
    // Only its own code can tell, and that runs there: `submit` tells.
    check: () => undefined,
    submit: (request) => instances.submit({ ...request, calculation: name }),
  };
}
