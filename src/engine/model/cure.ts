import { inputsChanged, planLost } from "./errors.ts";
import { namePattern } from "./identity.ts";

/** What helps a run that has no whole result: a command, and what it does. */
interface Cure {
  readonly command: string;
  readonly text: string;
}

/** `code`: that of its error. */
export function cureOf(run: string, calculation: string, code: string | undefined): Cure {
  const retry = `leasefold retry ${run}`;
  // Somebody pastes it into a shell, and a stored name may be any text.
  const submit = `leasefold submit ${namePattern.test(calculation) ? calculation : "NAME"} …`;
  const another = `${submit} --reuse ${run}`;
  if (code === inputsChanged)
    return { command: another, text: "computes it as another run, by the inputs of now" };
  if (code === planLost) return { command: submit, text: "computes it as another run: its plan is gone" };
  if (code === "other-code")
    return { command: retry, text: "computes what is missing, once instances with its code run" };
  if (code === "deadline")
    return { command: retry, text: "computes what is missing, with as much time again" };
  if (code === undefined || code.endsWith("-failed"))
    return {
      command: retry,
      text: `computes what is missing; if the code has changed, use "${another} --accept-code"`,
    };
  return { command: retry, text: "computes what is missing" };
}
