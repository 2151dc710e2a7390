/** Names of the blobs of one run, and parsers of them; docs/ARCHITECTURE.md draws the whole tree. */
const pad = (value: number, digits: number): string => String(value).padStart(digits, "0");
const shardName = (shard: number): string => pad(shard, 5);
const packName = (pack: number): string => pad(pack, 8);
const packPath = (shard: number, pack: number): string => `${shardName(shard)}/${packName(pack)}`;

export const specBlob = (id: string): string => `${id}/spec.json`;

/** A piece of work whose sends are counted. A node of level 1 is a shard's. */
export type Work =
  | { readonly kind: "plan" }
  | { readonly kind: "pack"; readonly shard: number; readonly pack: number }
  | { readonly kind: "node"; readonly level: number; readonly index: number }
  | { readonly kind: "finish" };

/** `00012/`, or `0001` for the ten shards from 10 on: names sort as text, so a prefix of the digits is a range. */
const near = (shard: number, digits: number): string =>
  digits === 0 ? `${shardName(shard)}/` : shardName(shard).slice(0, -digits);

/** Blob names of one run in container `runs`. */
export function runBlobs(id: string, uid: string) {
  const root = `${id}/${uid}/`;
  const failures = `${root}failed/`;
  const failure = (work: Work, generation: number, send: number) =>
    `${failures}${workName(work)}.${pad(generation, 3)}.${pad(send, 3)}`;
  return {
    root,
    plan: `${root}plan.json`,
    state: `${root}state.json`,
    segment: (attempt: string, segment: number) => `${root}plan/${attempt}/${pad(segment, 6)}`,
    parts: `${root}parts/`,
    partsOf: (shard: number) => `${root}parts/${shardName(shard)}/`,
    /** The partials of up to `10 ** digits` neighboring shards, `shard` among them. */
    partsNear: (shard: number, digits: number) => `${root}parts/${near(shard, digits)}`,
    part: (shard: number, pack: number) => `${root}parts/${packPath(shard, pack)}`,
    /** What attempts at a pack have of it that failed or have gaps (rule *failed chunks*). */
    kept: (shard: number, pack: number) => `${root}kept/${packPath(shard, pack)}`,
    nodesOf: (generation: number, level: number) => `${root}nodes/${pad(generation, 3)}/${level}/`,
    /** Up to `10 ** digits` neighboring nodes of a level, `index` among them. */
    nodesNear: (generation: number, level: number, index: number, digits: number) =>
      `${root}nodes/${pad(generation, 3)}/${level}/${digits === 0 ? shardName(index) : near(index, digits)}`,
    node: (generation: number, level: number, index: number) =>
      `${root}nodes/${pad(generation, 3)}/${level}/${shardName(index)}`,
    nodes: `${root}nodes/`,
    failures,
    failuresNear: (shard: number, digits: number) => `${failures}${near(shard, digits)}`,
    /** Failures of plan, nodes and finish, and the notes of instances with other code. */
    taskFailures: ["node/", "plan.", "finish.", "code."].map((kind) => `${failures}${kind}`),
    /** Says that instances with other code, named by a hash, requeue work of the generation. */
    otherCode: (generation: number, hash: string) => `${failures}code.${pad(generation, 3)}.${hash}`,
    failure,
    printed: `${root}printed/`,
    printedOf: (work: Work) => `${root}printed/${workName(work)}/`,
    tried: (work: Work, generation: number, send: number) => `${failure(work, generation, send)}.tried`,
  };
}

/** Blob names of one run's results and answers, in container `results`. */
export function resultBlobs(id: string, uid: string) {
  const root = `${id}/${uid}/`;
  const of = (generation: number) => `${root}${pad(generation, 3)}/`;
  const answer = (tag: string) => `${root}answers/${tag}`;
  return {
    root,
    manifest: (generation: number) => `${of(generation)}manifest.json`,
    result: (generation: number, attempt: string, extension: string) =>
      `${of(generation)}${attempt}/result.${extension}`,
    file: (name: string) => `${root}files/${name}`,
    hashes: (generation: number, shard: number) => `${of(generation)}hashes/${shardName(shard)}`,
    answer,
    answerBytes: (tag: string, attempt: string, extension: string) =>
      `${answer(tag)}.${attempt}.${extension}`,
    verified: (tag: string, pack: number) => `${answer(tag)}/${packName(pack)}`,
    verifiedOf: (tag: string) => `${answer(tag)}/`,
  };
}

/** Name of a piece of work in blob names and in the state: `00003/00000042`, `node/1/00003`, `plan` or `finish`. */
export function workName(work: Work): string {
  if (work.kind === "pack") return packPath(work.shard, work.pack);
  return work.kind === "node" ? `node/${work.level}/${pad(work.index, 5)}` : work.kind;
}

/** The piece of work of a name that `workName` makes; undefined for any other. */
export function parseWorkName(name: string): Work | undefined {
  const match = /^(?:(\d+)\/(\d+)|node\/(\d+)\/(\d+)|(plan|finish))$/.exec(name);
  if (match === null) return undefined;
  const [, shard, pack, level, index, kind] = match;
  if (pack !== undefined) return { kind: "pack", shard: Number(shard), pack: Number(pack) };
  if (index !== undefined) return { kind: "node", level: Number(level), index: Number(index) };
  return { kind: kind === "plan" ? "plan" : "finish" };
}

/** The number at the end of a partial's or node's name; NaN without one. */
export const lastNumberOf = (blob: string): number => Number(blob.slice(blob.lastIndexOf("/") + 1));

/** The send that a `.tried` note tells of; undefined for any other name. */
export const parseTried = (blob: string) =>
  blob.endsWith(".tried") ? parseFailure(blob.slice(0, -".tried".length)) : undefined;

/** The generation whose work instances with other code requeue; undefined for any other name. */
export function parseOtherCode(blob: string): { readonly generation: number } | undefined {
  const match = /\/failed\/code\.(\d+)\.[^/]+$/.exec(blob);
  return match === null ? undefined : { generation: Number(match[1]) };
}

/** The send that a failure record tells of; undefined for any other name. */
export function parseFailure(
  blob: string,
): { readonly work: Work; readonly generation: number; readonly send: number } | undefined {
  const match = /\/failed\/(.+)\.(\d+)\.(\d+)$/.exec(blob);
  const work = match === null ? undefined : parseWorkName(match[1] as string);
  return work && { work, generation: Number(match?.[2]), send: Number(match?.[3]) };
}
