import { hash } from "node:crypto";
import * as z from "zod";
import { InputError } from "../model/errors.ts";
import { checkInputName } from "../model/names.ts";
import { holdsBytes } from "../storage/callSteps.ts";
import { type Client, iso } from "./client.ts";
import { blobPages, ensuringContainers } from "./containersAndQueues.ts";
import { invalid } from "./runRequest.ts";
import { count, list, text, time } from "./viewSchemas.ts";

const inputsSchema = z
  .object({
    source: text.describe("`container/path`, as calculations take it."),
    files: count,
    bytes: count,
    modifiedAt: time.describe("Of the newest file."),
    sha256: text
      .describe("Of a single file, as whoever wrote it stated it. Nobody has compared it with the bytes.")
      .exactOptional(),
  })
  .describe("Files that were uploaded, at one path: a file, or a folder with all that is in it.")
  .meta({ id: "Inputs" });
export const uploadsSchema = z.object({ uploads: list(inputsSchema) });
export type Inputs = z.infer<typeof inputsSchema>;
export const uploadedSchema = inputsSchema.pick({ source: true, bytes: true }).extend({ sha256: text });
export type UploadedBytes = z.infer<typeof uploadedSchema>;

/** Names that are deleted in one call. */
const deletedAtOnce = 1_000;

/**
 * The folders and files at a path below the container of inputs, whose name may lead: what is directly in a folder, or the one
 * file of that name. One list call for 5,000 files, folders below included. Throws `InputError` where there is nothing.
 */
export async function inputs(client: Client, path = ""): Promise<readonly Inputs[]> {
  const prefix = prefixOf(client, path);
  const found = new Map<string, { files: number; bytes: number; newestMs: number; sha256?: string }>();
  for await (const { blobs } of blobPages(client, client.names.inputs, prefix, { metadata: true }))
    for (const { name, bytes, lastModifiedMs, metadata } of blobs) {
      if (!isAt(name, prefix)) continue;
      const below = name.slice(prefix.length);
      const folder = below.indexOf("/");
      const key = folder < 0 ? name : name.slice(0, prefix.length + folder + 1);
      const before = found.get(key) ?? { files: 0, bytes: 0, newestMs: 0 };
      const { sha256 } = metadata;
      const hashed = folder < 0 && sha256 !== undefined ? { sha256 } : {};
      const newestMs = Math.max(before.newestMs, lastModifiedMs);
      found.set(key, { files: before.files + 1, bytes: before.bytes + bytes, newestMs, ...hashed });
    }
  if (found.size === 0 && prefix !== "") throw unknownInput(path);
  return [...found].map(([name, { newestMs, ...of }]) => ({
    source: `${client.names.inputs}/${name}`,
    ...of,
    modifiedAt: iso(newestMs),
  }));
}

/**
 * Deletes a file, or a folder with all that is in it. Chunks of runs that have not read it yet fail with `file-missing`. Throws
 * `InputError` where there is nothing.
 */
export async function deleteInputs(client: Client, path: string): Promise<Pick<Inputs, "files" | "bytes">> {
  const prefix = prefixOf(client, path);
  if (prefix === "") throw invalid("path", "give a file or a folder");
  const { storage, names } = client;
  const all: string[] = [];
  let bytes = 0;
  for await (const page of blobPages(client, names.inputs, prefix))
    for (const blob of page.blobs.filter(({ name }) => isAt(name, prefix))) {
      all.push(blob.name);
      bytes += blob.bytes;
    }
  if (all.length === 0) throw unknownInput(path);
  for (let from = 0; from < all.length; from += deletedAtOnce)
    await storage.blobs.removeMany(names.inputs, all.slice(from, from + deletedAtOnce));
  return { files: all.length, bytes };
}

/**
 * Writes small bytes as one uploaded file, and tells the source that calculations take. The same bytes again are no change. Throws
 * `InputError` for a name that no blob has, and for other content without `replace`. Two or three calls: of large files `upload` makes more.
 */
export async function uploadBytes(
  client: Client,
  path: string,
  body: Uint8Array,
  { replace }: { readonly replace: boolean },
): Promise<UploadedBytes> {
  checkInputName(path);
  const { storage, names } = client;
  const sha256 = hash("sha256", body);
  const uploaded = { source: `${names.inputs}/${path}`, bytes: body.byteLength, sha256 };
  const found = await ensuringContainers(client, () => storage.blobs.head(names.inputs, path));
  const isThere = () =>
    holdsBytes(storage.blobs, [names.inputs, path], { bytes: body.byteLength, sha256: () => sha256 });
  if (found.kind === "found" && found.properties.bytes === body.byteLength && (await isThere()))
    return uploaded;
  const metadata = { sha256 };
  const { kind } =
    found.kind === "found" && replace
      ? await storage.blobs.replace(names.inputs, path, body, { metadata, ifMatch: found.properties.etag })
      : await storage.blobs.create(names.inputs, path, body, { metadata });
  if (kind === "created" || kind === "replaced") return uploaded;
  // An earlier try of this call may have written it, and another process the same content.
  if (await isThere()) return uploaded;
  throw new InputError("conflict", "other-content", `${path} exists with other content`, { field: "path" });
}

const prefixOf = ({ names }: Client, path: string): string =>
  path === names.inputs
    ? ""
    : path.startsWith(`${names.inputs}/`)
      ? path.slice(names.inputs.length + 1)
      : path;

/** `sales` is the file or the folder of that name, and `sales/` the folder; neither is `sales-2026`. */
const isAt = (name: string, prefix: string): boolean =>
  prefix === "" || prefix.endsWith("/") || name === prefix || name.startsWith(`${prefix}/`);

const unknownInput = (path: string): InputError =>
  new InputError("unknown", "unknown-input", `there is no uploaded file or folder ${JSON.stringify(path)}`, {
    field: "path",
  });
