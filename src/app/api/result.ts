import type { Client } from "../../engine/client/client.ts";
import { type AnswerSoFar, soFar } from "../../engine/client/questions/soFar.ts";
import {
  type FoundResult,
  findResult,
  findSavedFile,
  openResult,
  openSavedFile,
  resultFileName,
} from "../../engine/client/result.ts";
import { resultLink, resultLinkSchema } from "../../engine/client/resultLink.ts";
import { invalid } from "../../engine/client/runRequest.ts";
import { InputError } from "../../engine/model/errors.ts";
import { sha256OfFile } from "../../engine/model/fileList.ts";
import { baseContentType, mayBeShown } from "../../engine/model/resultType.ts";
import { type Manifest, manifestSchema } from "../../engine/model/run.ts";
import { type ApiAnswer, answerBytesMax, fresh, routeParam } from "./apiRequest.ts";
import { collect, giveBytes, type Sent, tooLarge } from "./bytes.ts";
import { type Asked, defineRoute, queryFlag, queryWhole, waitSMax } from "./route.ts";
import { noRun } from "./runs.ts";

const generation = queryWhole(999);
export const noResult = { ...noRun, 409: [...noRun[409], "not-finished", "run-failed", "run-cancelled"] };
const ofBytes = { answer: "*/*", cached: true, ranges: true } as const;
const badRange = { 413: ["answer-too-large"], 416: ["range-not-satisfiable"] };

/**
 * The result's bytes with content type, ETag (its SHA-256), `Range` and `If-None-Match`; for `HEAD` only the headers. 404
 * for an unknown run, 409 for a run without a result. With `?soFar=true` such a run answers with its partial result.
 */
export const getResult = defineRoute({
  method: "GET",
  route: "runs/{id}/result",
  summary: "The result, with its content type. Its ETag is its SHA-256.",
  query: {
    generation: generation.describe("Of an older result."),
    soFar: queryFlag.describe("The answer over what is done, also of a failed or cancelled run."),
    wait: queryWhole(waitSMax).describe("With `soFar`: seconds to wait for a worker."),
  },
  ...ofBytes,
  problems: {
    ...noResult,
    ...badRange,
    404: ["unknown-run", "unknown-generation"],
    409: [...noResult[409], "nothing-yet"],
    504: ["no-answer"],
  },
  async handler(request, client) {
    const { generation } = request.query;
    if (!asksSoFar(request)) {
      const found = await findResult(client, routeParam(request, "id"), { generation });
      return await giveResult(request, client, found);
    }
    const answered = await answerSoFar(request, client);
    return "status" in answered ? answered : await giveResult(request, client, { manifest: answered });
  },
});

export const getManifest = defineRoute({
  method: "GET",
  route: "runs/{id}/manifest",
  summary: "What the result was made of: hash, gaps, code, terms.",
  query: { generation },
  answer: manifestSchema.meta({ id: "Manifest" }),
  problems: { ...noResult, 404: ["unknown-run", "unknown-generation"] },
  async handler(request, client) {
    const found = await findResult(client, routeParam(request, "id"), request.query);
    return fresh(found.manifest, 200, newestHeaders(found));
  },
});

/** Off by default, because whoever has a link needs no key: `LEASEFOLD_RESULT_LINKS`. */
export const getResultLink = defineRoute({
  method: "GET",
  route: "runs/{id}/result/link",
  summary: "A link that reads the result from storage without a key, for 15 minutes.",
  query: { generation },
  answer: resultLinkSchema,
  problems: {
    ...noResult,
    403: ["links-off", "no-links", "link-denied"],
    404: ["unknown-run", "unknown-generation"],
  },
  async handler(request, client, { resultLinks = false }) {
    const off = "this app gives no links to results: LEASEFOLD_RESULT_LINKS is not set to true";
    if (!resultLinks) throw new InputError("conflict", "links-off", off);
    return fresh(await resultLink(client, routeParam(request, "id"), request.query));
  },
});

/** Headers of an older result: the newest generation, which has none, and how it ended. */
const newestHeaders = ({ newest }: FoundResult): Record<string, string> =>
  newest === undefined
    ? {}
    : { "leasefold-newest-generation": String(newest.generation), "leasefold-newest-phase": newest.phase };

async function giveResult(request: Sent, client: Client, found: FoundResult): Promise<ApiAnswer> {
  const { manifest } = found;
  return await giveBytes(request, {
    ...{ what: "the result", command: "leasefold result", bytes: manifest.bytes, sha256: manifest.sha256 },
    always: newestHeaders(found),
    described: { ...describeBytes(manifest), "leasefold-complete": String(manifest.complete) },
    open: async (part) => (await openResult(client, manifest, part)).body,
  });
}

/** A file that chunks saved, as `getResult` gives a result. 404 for an unknown run or file. */
export const getSavedFile = defineRoute({
  method: "GET",
  route: "runs/{id}/files/{name}",
  summary: "A file that chunks saved, by the name that a result of files lists.",
  ...ofBytes,
  problems: { ...noResult, ...badRange, 404: ["unknown-run", "unknown-file"] },
  async handler(request, client) {
    const file = await findSavedFile(client, routeParam(request, "id"), routeParam(request, "name"));
    return await giveBytes(request, {
      ...{ what: "the file", command: "leasefold result RUN -o FOLDER/", bytes: file.bytes },
      sha256: sha256OfFile(file.name),
      // It may be of any type.
      described: {
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="${file.name}"`,
      },
      open: (part) => openSavedFile(client, file, file, part),
    });
  },
});

/** Content type, file name and generation of a result or of an answer so far. */
function describeBytes({
  run,
  blob,
  contentType,
  generation,
}: Pick<Manifest, "run" | "blob" | "contentType" | "generation">): Record<string, string> {
  // JSON is UTF-8 by definition; any other type is sent as the calculation named it.
  const isJson = baseContentType(contentType) === "application/json";
  return {
    "content-type": isJson ? "application/json" : contentType,
    // A page or picture with a script, opened from this origin, could reach the function key.
    "content-disposition": `${mayBeShown(contentType) ? "inline" : "attachment"}; filename="${resultFileName({ run, blob })}"`,
    "leasefold-generation": String(generation),
  };
}

/** Characters of the header that lists ranges; more are cut off, while the number of chunks stays exact. */
const coversCharactersMax = 2_000;

interface ResultQuery {
  readonly generation?: number | undefined;
  readonly soFar: boolean;
  readonly wait?: number | undefined;
}

/** Whether it asks for the answer so far, which excludes `generation`. */
function asksSoFar({ method, query }: Pick<Asked<ResultQuery>, "method" | "query">): boolean {
  if (!query.soFar) return false;
  if (method === "HEAD") throw invalid("soFar", "HEAD would compute an answer; use GET", "bad-query");
  if (query.generation === undefined) return true;
  throw invalid("generation", "an answer so far is always of the newest generation", "bad-query");
}

/**
 * The result that a run would have if it ended now, with the chunks it covers in headers; or the manifest of a run that
 * has its result. Waits for a worker, at most `?wait=` seconds; 504 if none answers.
 */
async function answerSoFar(
  request: Pick<Asked<ResultQuery>, "params" | "query">,
  client: Client,
): Promise<ApiAnswer | Manifest> {
  const { wait } = request.query;
  const waitMs = wait === undefined ? undefined : wait * 1_000;
  const found = await soFar(client, routeParam(request, "id"), { waitMs }, async ({ bytes }, body) => {
    if (bytes > answerBytesMax)
      throw tooLarge("soFar", `this one has ${bytes}; use "leasefold result --so-far"`);
    return await collect(body, bytes);
  });
  if (found.kind === "finished") return found.manifest;
  const { answer, value: body } = found;
  return {
    status: 200,
    headers: { "cache-control": "no-store", ...describeBytes(answer), ...covers(answer) },
    body,
  };
}

const covers = (answer: AnswerSoFar): Record<string, string> => ({
  "leasefold-complete": "false",
  "leasefold-chunks": `${answer.folded}/${answer.chunks}`,
  "leasefold-covers": rangesOf(answer),
});

/** `0-99,200-222`, with the last chunk of each range included. */
function rangesOf({ covers }: AnswerSoFar): string {
  const text = covers.map(({ from, to }) => `${from}-${to - 1}`).join(",");
  if (text.length <= coversCharactersMax) return text;
  return `${text.slice(0, text.lastIndexOf(",", coversCharactersMax))},...`;
}
