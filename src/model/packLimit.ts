import { ConfigError } from "./errors.ts";
import type { HostSettings } from "./hostSettings.ts";
import type { Settings } from "./settings.ts";

/** An attempt must end, and its record be written, before the host kills the whole process with it. */
export function packLimitOf({ LEASEFOLD_PACK_LIMIT_S }: Settings, host: HostSettings): number {
  const packLimitMs = LEASEFOLD_PACK_LIMIT_S * 1_000;
  if (packLimitMs <= host.functionTimeoutMs / 2) return packLimitMs;
  const timeoutS = host.functionTimeoutMs / 1_000;
  throw new ConfigError(
    "bad-setting",
    `LEASEFOLD_PACK_LIMIT_S=${LEASEFOLD_PACK_LIMIT_S}: must be at most half of functionTimeout (${timeoutS} s)`,
  );
}
