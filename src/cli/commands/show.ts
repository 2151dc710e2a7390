import { Argument, type Command } from "commander";
import { findLocalFile } from "../../local/localFile.ts";
import { ConfigError } from "../../model/errors.ts";
import type { Session } from "../cli.ts";

const things = ["connection", "key", "url"] as const;

/**
 * `leasefold show [what]`: how to get at the instances that run here with other programs, such as curl and Storage
 * Explorer. The one command that prints secrets.
 */
export function addShow(program: Command, session: Session): void {
  program
    .command("show")
    .description("connection string (for Storage Explorer), API key and URL of the instances that run here")
    .addArgument(new Argument("[what]", "only this one, for use in other commands").choices(things))
    .action(async (what: (typeof things)[number] | undefined) => {
      const found = await findLocalFile(session.cli.env, session.cli.folder);
      if (found.kind !== "found") {
        throw new ConfigError("nothing-runs", 'nothing runs here; "leasefold up" starts instances');
      }
      const { connectionString: connection, functionKey: key, instances } = found.local;
      const url = instances.find(({ httpUrl }) => httpUrl !== undefined)?.httpUrl;
      const values = { connection, key, url: `${url}/api` };
      if (session.json()) return await session.printJson(what === undefined ? values : values[what]);
      if (what !== undefined) return await session.print(values[what]);
      for (const [name, value] of Object.entries(values)) await session.print(`${name.padEnd(10)}  ${value}`);
    });
}
