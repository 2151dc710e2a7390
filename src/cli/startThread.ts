import type { FileAccess } from "../calculations/files.ts";
import { readSettings } from "../model/settings.ts";
import type { UserCode } from "../worker/userCode.ts";
import { calculationFiles } from "./knownCalculations.ts";

/**
 * One worker thread with the calculations known here. User code that blocks or never ends blocks only that thread,
 * so Ctrl-C still works.
 */
export async function startThread(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
  access: FileAccess,
  file?: string,
): Promise<UserCode> {
  const memoryMb = readSettings(env).LEASEFOLD_THREAD_MEMORY_MB;
  const files = calculationFiles(env, folder, file);
  // Loaded only here: no other command should start later for it.
  const { threadPool } = await import("../worker/threadPool.ts");
  return threadPool({ threads: 1, memoryMb, files, access, onIdleCrash: () => {}, printToError: true });
}
