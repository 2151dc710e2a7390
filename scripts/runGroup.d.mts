import type { SpawnOptions } from "node:child_process";
export declare function runGroup(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<number>;
