import type { HttpResponseInit } from "@azure/functions";
import type { Client } from "../../client/client.ts";
import { type AnswerSoFar, soFar } from "../../client/questions/soFar.ts";
import { InputError } from "../../model/errors.ts";
import { baseContentType, mayBeShown } from "../../model/resultType.ts";
import type { Manifest } from "../../model/run.ts";
import { type ApiRequest, answerBytesMax, queryWhole, routeParam } from "./apiRequest.ts";

/** Content type, file name and generation of a result or of an answer so far. */
export function describeBytes({
  run,
  blob,
  contentType,
  generation,
}: Pick<Manifest, "run" | "blob" | "contentType" | "generation">): Record<string, string> {
  const extension = /\.([A-Za-z0-9]+)$/.exec(blob)?.[1] ?? "bin";
  // JSON is UTF-8 by definition; any other type is given as the calculation named it.
  const isJson = baseContentType(contentType) === "application/json";
  return {
    "content-type": isJson ? "application/json" : contentType,
    // A page or picture with script, opened from this origin, would have the function key within reach.
    "content-disposition": `${mayBeShown(contentType) ? "inline" : "attachment"}; filename="${run}.${extension}"`,
    "leasefold-generation": String(generation),
  };
}

/** Azure's front end ends a request after 230 s. */
const waitSMax = 200;

/** More ranges than fit into a header are cut off; the number of chunks is exact all the same. */
const coversCharactersMax = 2_000;

/** Whether the query says `soFar=true`; refuses what cannot be meant together with it. */
export function asksSoFar(request: ApiRequest, generation: number | undefined): boolean {
  const text = request.query.get("soFar") ?? "false";
  if (text === "false") return false;
  if (text !== "true") {
    throw new InputError("invalid", "bad-query", `soFar: ${text} is neither true nor false`, {
      field: "soFar",
    });
  }
  if (generation === undefined) return true;
  const rule = "generation: an answer so far is always of the newest generation";
  throw new InputError("invalid", "bad-query", rule, { field: "generation" });
}

/**
 * What a run at work would give if it ended now, with the chunks it covers in headers; or the manifest of one that
 * has its result. Waits for a worker, `?wait=` seconds at most; 504 where none answered.
 */
export async function answerSoFar(
  request: ApiRequest,
  client: Client,
): Promise<(HttpResponseInit & { readonly status: number }) | Manifest> {
  const waitS = queryWhole(request, "wait", waitSMax);
  const options = { waitMs: waitS === undefined ? undefined : waitS * 1_000 };
  const told = await soFar(client, routeParam(request, "id"), options, async (answer, body) => {
    if (answer.bytes > answerBytesMax) throw tooLarge(answer);
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return Buffer.concat(pieces);
  });
  if (told.kind === "finished") return told.manifest;
  const { answer, value: body } = told;
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

/** `0-99,200-222`, with the last chunk of each range in it. */
function rangesOf({ covers }: AnswerSoFar): string {
  const text = covers.map(({ from, to }) => `${from}-${to - 1}`).join(",");
  if (text.length <= coversCharactersMax) return text;
  return `${text.slice(0, text.lastIndexOf(",", coversCharactersMax))},...`;
}

const tooLarge = (answer: AnswerSoFar): InputError =>
  new InputError(
    "invalid",
    "answer-too-large",
    `soFar: one answer carries at most ${answerBytesMax} bytes (answerBytesMax) and this one has ${answer.bytes}; ` +
      'use "leasefold result --so-far"',
    { field: "soFar" },
  );
