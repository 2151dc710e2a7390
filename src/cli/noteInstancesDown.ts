import type { Session } from "./cli.ts";

/** Says beside the answer that local instances do not run: what the answer shows may then stand still. */
export async function noteInstancesDown(session: Session): Promise<void> {
  const down = await session.instancesDown();
  if (down !== undefined) await session.note(down);
}
