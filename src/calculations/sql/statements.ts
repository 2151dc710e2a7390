import type { Session } from "./duck/session.ts";
import type { SqlParams } from "./params.ts";

/** The statements of a run, and the columns of `data` that they read. */
export interface Statements {
  readonly map: string;
  readonly reduce: string;
  readonly finish: string;
  readonly columns: readonly string[] | "all";
}

export async function statementsOf(given: SqlParams, _session: Session): Promise<Statements> {
  const { map = "", reduce = "", finish = "from parts" } = given;
  return { map, reduce, finish, columns: "all" };
}
