import type { Exchange } from "./faultProxy.ts";

/** One accepted write of the fenced state. */
export interface AcceptedWrite {
  readonly term: number;
  readonly termid: string;
  readonly etag: string;
  readonly ifMatch: string | undefined;
}

/**
 * Every write of the state that the service accepted, in the order in which they stand on one another: each names
 * the ETag of the one before. Throws where they do not form one chain. Answers that the writer never saw count.
 */
export function acceptedWrites(exchanges: readonly Exchange[]): readonly AcceptedWrite[] {
  const accepted = exchanges
    .filter(({ name, url }) => name === "put" && url.includes("/state.json"))
    .flatMap(({ answers, body, headers }) =>
      answers
        .filter(({ status }) => status === 201)
        .map(({ etag }) => ({
          ...(JSON.parse(body) as { readonly term: number; readonly termid: string }),
          etag,
          ifMatch: headers["if-match"]?.replaceAll('"', ""),
        })),
    )
    .map(({ term, termid, etag, ifMatch }) => ({ term, termid, etag, ifMatch }));
  const chain: AcceptedWrite[] = [];
  let next = accepted.find(({ ifMatch }) => ifMatch === undefined);
  while (next !== undefined) {
    const { etag } = next;
    chain.push(next);
    next = accepted.find(({ ifMatch }) => ifMatch === etag);
  }
  if (chain.length !== accepted.length) {
    throw new Error(
      `${accepted.length} writes were accepted, but only ${chain.length} of them form a chain.`,
    );
  }
  return chain;
}

/** Terms in the order in which they wrote. Throws where a term wrote after a later one, or under two termids. */
export function termsThatWrote(writes: readonly AcceptedWrite[]): readonly number[] {
  const terms: number[] = [];
  let last: AcceptedWrite | undefined;
  for (const write of writes) {
    if (last !== undefined && write.termid !== last.termid && write.term <= last.term) {
      throw new Error(`Term ${write.term} (${write.termid}) wrote after term ${last.term} (${last.termid}).`);
    }
    if (write.termid !== last?.termid) terms.push(write.term);
    last = write;
  }
  return terms;
}
