import { addDown } from "./commands/down.ts";
import { addLead } from "./commands/lead.ts";
import { addShow } from "./commands/show.ts";
import { addDemo } from "./demo/demo.ts";
import { processCli } from "./processCli.ts";
import type { AddCommand } from "./program.ts";
import { runCommand } from "./runCommand.ts";
import { addUp } from "./up/up.ts";

/** Commands that run other programs on this machine: `lead`, and instances with `up`, `show`, `down`, `demo`. */
const local: readonly AddCommand[] = [addLead, addUp, addShow, addDown, addDemo];

/** What `bin/leasefold.js` calls, after this was bundled to `dist/cli.cjs`. Gives the exit code. */
export const main = (argv: readonly string[]): Promise<number> => runCommand(argv, processCli(), local);
