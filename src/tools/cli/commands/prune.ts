import type { Command } from "commander";
import { clientLimits } from "../../../engine/client/client.ts";
import { prune, pruneMsMin } from "../../../engine/client/prune.ts";
import type { Session } from "../cli.ts";
import { badOption, durationOption } from "../options.ts";
import { countOf } from "../render/text.ts";

interface PruneOptions {
  readonly olderThan: number;
  readonly dryRun?: boolean;
}

/** `leasefold prune`: what expiry and the account's lifecycle rule do each day, now. */
export function addPrune(program: Command, session: Session): void {
  program
    .command("prune")
    .description("delete runs that ended long ago, and what belongs to no run")
    .requiredOption(
      "--older-than <time>",
      "since they ended, such as 30d; at least 1d",
      durationOption(clientLimits.deadlineMsMax),
    )
    .option("--dry-run", "only say what would be deleted")
    .action(async ({ olderThan, dryRun = false }: PruneOptions) => {
      if (olderThan < pruneMsMin) throw badOption("older-than", "it must be at least 1d");
      const pruned = await prune(await session.client(), olderThan, dryRun);
      if (session.json()) return await session.printJson({ ...pruned, dryRun });
      const [runs, blobs] = [countOf(pruned.runs.length, "run"), countOf(pruned.blobs, "blob")];
      const told = dryRun
        ? `would delete ${runs}, and ${blobs} of no run`
        : `${runs} to be deleted by a leader; ${blobs} of no run deleted`;
      await session.print([...pruned.runs, told].join("\n"));
    });
}
