/**
 * Every container, blob and queue name, and nothing else makes one.
 *
 *   {ns}-coordination  leader                              the lease record, all in metadata
 *                      {name}                              the same for an election of a user's own
 *                      state/{name}                        what the leaders of that election hand on
 *                      leases/{name}                       a named lease and its content
 *   {ns}-active        {id}                                marker of a run not closed, all in metadata
 *   {ns}-runs          {id}/spec.json
 *                      {id}/{uid}/plan.json  plan/{attempt}/{segment}  state.json
 *                      {id}/{uid}/parts/{shard}/{pack}
 *                      {id}/{uid}/nodes/{gen}/{level}/{index}
 *                      {id}/{uid}/failed/{shard}/{pack}.{gen}.{send}  failed/plan.{gen}.{send}
 *                                failed/node/{level}/{index}.{gen}.{send}  failed/finish.{gen}.{send}
 *                                failed/….tried               the latest attempt of that send threw, others are to come
 *                                failed/….{attempt}.begun     an attempt of work that was sent before has begun
 *                                failed/code.{gen}.{hash}     instances with other code enqueue that work again
 *                      {id}/{uid}/anew/{gen}/              plan, parts and nodes of a retry that computes all anew
 *                      _dropped/{sha256}                   a message that could not be understood
 *                      _expiry                             says when old runs were last looked for
 *   {ns}-results       {id}/{uid}/{gen}/manifest.json  {attempt}/result.*  hashes/{shard}
 *                      {id}/{uid}/answers/{tag}  answers/{tag}.{attempt}.*  answers/{tag}/{pack}
 *   {ns}-inputs        {path}                              files that users uploaded for their calculations
 *   queues             {ns}-packs  {ns}-urgent  {ns}-wake  and their -poison twins
 *
 * Numbers in names are zero-padded, so that lists come in numeric order; prefixes end in `/`.
 */
import { ruleBroken } from "./blobNameRule.ts";
import { InputError } from "./errors.ts";

export interface Names {
  readonly coordination: string;
  readonly active: string;
  readonly runs: string;
  readonly results: string;
  readonly inputs: string;
  readonly packs: string;
  readonly urgent: string;
  readonly wake: string;
}

/** The namespace must leave room for the longest suffix in a container's 63 characters. */
export const namespacePattern = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
export const namespaceCharactersMax = 40;

export function namesOf(namespace: string): Names {
  return {
    coordination: `${namespace}-coordination`,
    active: `${namespace}-active`,
    runs: `${namespace}-runs`,
    results: `${namespace}-results`,
    inputs: `${namespace}-inputs`,
    packs: `${namespace}-packs`,
    urgent: `${namespace}-urgent`,
    wake: `${namespace}-wake`,
  };
}

export const containersOf = ({ coordination, active, runs, results, inputs }: Names): readonly string[] => [
  coordination,
  active,
  runs,
  results,
  inputs,
];

/** Each queue and its poison twin. */
export const queuesOf = ({ packs, urgent, wake }: Names): readonly string[] =>
  [packs, urgent, wake].flatMap((queue) => [queue, poisonOf(queue)]);

export const poisonOf = (queue: string): string => `${queue}-poison`;

export const leaderBlob = "leader";

/** The blob of an election by its name; `leader` is the app's own. Throws `InputError` naming the rule. */
export function electionBlob(name: string): string {
  checkBlobName("an election", name);
  if (!/^(leases|state)\//.test(name)) return name;
  throw new InputError(
    "invalid",
    "bad-name",
    `${quoted(name)}: an election's name cannot begin with "leases/" or "state/"`,
  );
}

export const termStateBlob = (election: string): string => `state/${electionBlob(election)}`;

export function namedLeaseBlob(name: string): string {
  checkBlobName("a lease", name);
  return `leases/${name}`;
}

/** Throws `InputError` naming the rule that this name of an uploaded file breaks. */
export const checkInputName = (name: string): void => checkBlobName("a blob", name);

function checkBlobName(kind: string, name: string): void {
  const rule = ruleBroken(name);
  if (rule === undefined) return;
  const message = `${quoted(name)} is no name for ${kind}: ${rule}`;
  throw new InputError("invalid", "bad-name", message, { field: "name" });
}

const quoted = (text: unknown): string => {
  const shown = String(text);
  return JSON.stringify(shown.length > 80 ? `${shown.slice(0, 80)}…` : shown);
};

/** A run's id as a user may choose it: it becomes part of blob names and URLs. */
export const runIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

/** Returns the id, or throws `InputError` naming the rule. */
export function parseRunId(id: string): string {
  if (runIdPattern.test(id)) return id;
  const shown = id.length > 80 ? `${id.slice(0, 80)}… (${id.length} characters)` : id;
  throw new InputError(
    "invalid",
    "bad-run-id",
    `id: ${JSON.stringify(shown)} is not a run's id; use 1 to 63 letters, digits, "-" or "_", beginning with a letter or digit`,
  );
}

const pad = (value: number, digits: number): string => String(value).padStart(digits, "0");
const shardName = (shard: number): string => pad(shard, 5);
const packName = (pack: number): string => pad(pack, 8);
const ending = (generation: number, send: number): string => `${pad(generation, 3)}.${pad(send, 3)}`;

export const specBlob = (id: string): string => `${id}/spec.json`;
export const expiryBlob = "_expiry";
export const droppedBlobs = "_dropped/";
export const droppedBlob = (sha256: string): string => `${droppedBlobs}${sha256}`;

/** One piece of work that sends are counted for. `level` and `index` place a node in the tree; level 1 is a shard. */
export type Work =
  | { readonly kind: "plan" }
  | { readonly kind: "pack"; readonly shard: number; readonly pack: number }
  | { readonly kind: "node"; readonly level: number; readonly index: number }
  | { readonly kind: "finish" };

/** `00012/`, or `0001` for the ten shards from 10 on: names are sorted as text, so a prefix of the digits is a range. */
const near = (shard: number, digits: number): string =>
  digits === 0 ? `${shardName(shard)}/` : shardName(shard).slice(0, -digits);

/** Blob names of one run, by uid, in container `runs`. Plan and outputs go by the generation that planned, `origin`. */
export function runBlobs(id: string, uid: string, origin = 1) {
  const root = `${id}/${uid}/`;
  const base = baseOf(root, origin);
  return {
    root,
    plan: `${base}plan.json`,
    state: `${root}state.json`,
    segment: (attempt: string, segment: number) => `${base}plan/${attempt}/${pad(segment, 6)}`,
    parts: `${base}parts/`,
    partsOf: (shard: number) => `${base}parts/${shardName(shard)}/`,
    /** The parts of up to `10 ** digits` neighbouring shards, `shard` among them. */
    partsNear: (shard: number, digits: number) => `${base}parts/${near(shard, digits)}`,
    part: (shard: number, pack: number) => `${base}parts/${shardName(shard)}/${packName(pack)}`,
    nodesOf: (generation: number, level: number) => `${base}nodes/${pad(generation, 3)}/${level}/`,
    /** Up to `10 ** digits` neighbouring nodes of a level, `index` among them. */
    nodesNear: (generation: number, level: number, index: number, digits: number) =>
      `${base}nodes/${pad(generation, 3)}/${level}/${digits === 0 ? shardName(index) : near(index, digits)}`,
    node: (generation: number, level: number, index: number) =>
      `${base}nodes/${pad(generation, 3)}/${level}/${pad(index, 5)}`,
    nodes: `${base}nodes/`,
    /** Partials and nodes of generations before, which this one does not build on. */
    outputsBefore: Array.from({ length: origin - 1 }, (_, at) => baseOf(root, at + 1)).flatMap(outputsIn),
    failures: `${root}failed/`,
    failuresNear: (shard: number, digits: number) => `${root}failed/${near(shard, digits)}`,
    /** Failures of plan, nodes and finish, and the notes of instances with other code. */
    taskFailures: ["node/", "plan.", "finish.", "code."].map((kind) => `${root}failed/${kind}`),
    /** Instances that have this identity, told by a hash, enqueue work of the generation again. */
    otherCode: (generation: number, hash: string) => `${root}failed/code.${pad(generation, 3)}.${hash}`,
    failure: (work: Work, generation: number, send: number) =>
      `${root}failed/${workName(work)}.${ending(generation, send)}`,
    tried: (work: Work, generation: number, send: number) =>
      `${root}failed/${workName(work)}.${ending(generation, send)}.tried`,
    /** Notes of attempts of this work that began, of one send or of all. */
    begunOf: (work: Work, generation: number, send?: number) =>
      `${root}failed/${workName(work)}.${pad(generation, 3)}.${send === undefined ? "" : `${pad(send, 3)}.`}`,
    begun: (work: Work, generation: number, send: number, tag: string) =>
      `${root}failed/${workName(work)}.${ending(generation, send)}.${tag}.begun`,
  };
}

const baseOf = (root: string, origin: number) => (origin === 1 ? root : `${root}anew/${pad(origin, 3)}/`);
const outputsIn = (base: string) => [`${base}parts/`, `${base}nodes/`];

/** Blob names of one run's answers, in container `results`. */
export function resultBlobs(id: string, uid: string) {
  const root = `${id}/${uid}/`;
  return {
    root,
    manifest: (generation: number) => `${root}${pad(generation, 3)}/manifest.json`,
    result: (generation: number, attempt: string, extension: string) =>
      `${root}${pad(generation, 3)}/${attempt}/result.${extension}`,
    hashes: (generation: number, shard: number) => `${root}${pad(generation, 3)}/hashes/${shardName(shard)}`,
    answer: (tag: string) => `${root}answers/${tag}`,
    answerBytes: (tag: string, attempt: string, extension: string) =>
      `${root}answers/${tag}.${attempt}.${extension}`,
    verified: (tag: string, pack: number) => `${root}answers/${tag}/${packName(pack)}`,
    verifiedOf: (tag: string) => `${root}answers/${tag}/`,
  };
}

/** `00003/00000042`, `node/1/00003`, `plan` or `finish`: names a piece of work in blob names and in the state. */
export function workName(work: Work): string {
  switch (work.kind) {
    case "pack":
      return `${shardName(work.shard)}/${packName(work.pack)}`;
    case "node":
      return `node/${work.level}/${pad(work.index, 5)}`;
    default:
      return work.kind;
  }
}

/** The number at the end of a part's or node's name; NaN where there is none. */
export const lastNumberOf = (blob: string): number => Number(blob.slice(blob.lastIndexOf("/") + 1));

const triedEnding = /\.tried$/;
const begunEnding = /\.[^./]+\.begun$/;

/** The send of which an attempt threw and others are to come, or undefined for a name that says no such thing. */
export const parseTried = (blob: string) =>
  triedEnding.test(blob) ? parseFailure(blob.replace(triedEnding, "")) : undefined;

/** The send of which an attempt began, or undefined for a name that says no such thing. */
export const parseBegun = (blob: string) =>
  begunEnding.test(blob) ? parseFailure(blob.replace(begunEnding, "")) : undefined;

/** The generation of which instances with other code enqueue work again, or undefined for a name that says no such thing. */
export function parseOtherCode(blob: string): { readonly generation: number } | undefined {
  const match = /\/failed\/code\.(\d+)\.[^/]+$/.exec(blob);
  return match === null ? undefined : { generation: Number(match[1]) };
}

/** What a failure record's name says, or undefined for a name that is none. */
export function parseFailure(
  blob: string,
): { readonly work: Work; readonly generation: number; readonly send: number } | undefined {
  const match = /\/failed\/(?:(\d+)\/(\d+)|node\/(\d+)\/(\d+)|(plan|finish))\.(\d+)\.(\d+)$/.exec(blob);
  if (match === null) return undefined;
  const [, shard, pack, level, index, kind, generation, send] = match;
  const at = { generation: Number(generation), send: Number(send) };
  if (pack !== undefined) return { work: { kind: "pack", shard: Number(shard), pack: Number(pack) }, ...at };
  if (index !== undefined)
    return { work: { kind: "node", level: Number(level), index: Number(index) }, ...at };
  return { work: { kind: kind === "plan" ? "plan" : "finish" }, ...at };
}
