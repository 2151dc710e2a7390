import type { LocalFile } from "../../local/localFile.ts";
import type { Session } from "../cli.ts";
import { oneLine } from "./text.ts";

/** Which instances of `leasefold up` ended and wait for their next start, on one line; undefined where all run. */
export function instancesDown(instances: LocalFile["instances"]): string | undefined {
  const down = instances.flatMap(({ name, down }) =>
    down === undefined ? [] : [`${name} ended ${times(down.ends)} (${oneLine(down.reason)})`],
  );
  if (down.length === 0) return undefined;
  const one = down.length === 1;
  const which =
    down.length === instances.length
      ? "no instance runs"
      : `${down.length} of ${instances.length} instances ${one ? "does" : "do"} not run`;
  return `${which}: ${down.join(", ")}; "leasefold up" starts ${one ? "it" : "them"} again`;
}

const times = (ends: number): string => (ends === 1 ? "once" : `${ends} times`);

/** Says beside the answer that local instances do not run: what the answer shows may then stand still. */
export async function noteInstancesDown(session: Session): Promise<void> {
  const down = await session.instancesDown();
  if (down !== undefined) await session.note(down);
}
