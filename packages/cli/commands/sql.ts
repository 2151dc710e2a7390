import type { Command } from "commander";
import { filesOver } from "../../../src/engine/calculation/files.ts";
import { describeParams, parseParams } from "../../../src/engine/calculation/params.ts";
import type { SqlParams } from "../../sql/params.ts";
import { type ExplainedQuery, explainQuery } from "../../sql/planQuery.ts";
import { sql } from "../../sql/sql.ts";
import type { Session } from "../cli.ts";
import { clientFiles } from "../connect.ts";
import { readFreeOptions } from "../freeOptions.ts";
import { optionNames } from "../options.ts";
import { type Fact, factLines } from "../render/runDetails.ts";
import { bytes, count, countOf } from "../render/text.ts";

/** `leasefold sql --explain`: the steps of a query and what they would read. It computes nothing. */
export function addSql(program: Command, session: Session): void {
  program
    .command("sql")
    .description("show the steps of a query, and the columns, files and bytes that they read")
    .requiredOption("--explain", 'explain it; "leasefold submit sql" computes it')
    .usage("--explain --source <folder> --query <select …> [--<parameter> <value> …]")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (_options: unknown, command: Command) => {
      const given = readFreeOptions(command.args, [], describeParams(sql), optionNames(command));
      const files = filesOver(clientFiles(() => session.storage(), session.cli.env));
      const explained = await explainQuery(parseParams(sql, given) as SqlParams, files);
      if (session.json()) return await session.printJson(explained);
      for (const line of factLines(session.cli.out, factsOf(explained), 8)) await session.print(line);
    });
}

function factsOf(query: ExplainedQuery): readonly Fact[] {
  const { columns, columnsThere, chunks, files, fileBytes, filesRead, bytesRead } = query;
  const names = columns.length > 0 ? `: ${columns.join(", ")}` : "";
  return [
    ["way", query.why === "" ? query.way : `${query.way}: ${query.why}`],
    ...(query.way === "aggregate"
      ? []
      : [
          [
            "carried",
            `about ${bytes(query.carriedBytes)} of at most ${bytes(query.carriedBytesMax)}`,
          ] as const,
        ]),
    ...query.steps.flatMap(({ chunk, merge, answer, name }): Fact[] => [
      ["chunk", chunk],
      ...(merge === undefined ? [] : [["merge", merge] as const]),
      [name, answer],
    ]),
    ["finish", query.finish],
    ["columns", `${count(columns.length)} of ${count(columnsThere)}${names}`],
    ["files", `${count(filesRead)} of ${countOf(files, "file")}, ${bytes(bytesRead)} of ${bytes(fileBytes)}`],
    ["chunks", count(chunks)],
  ];
}
