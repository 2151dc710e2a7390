import type { FileAccess } from "../calculation/files.ts";
import { CalculationError, StorageError } from "../model/errors.ts";
import type { BlobStore, ListedBlob } from "../storage/ports.ts";

/**
 * Files of these containers only. The app's identity may also read its own state and other runs' results, while anyone who
 * submits a run chooses its `source`. Each read is checked too, because user code makes the plan that names the file.
 */
export function allowedFiles(access: FileAccess, containers: readonly string[]): FileAccess {
  const check = (path: string): void => {
    const [container = ""] = path.split("/");
    if (containers.includes(container)) return;
    throw new CalculationError(
      "source-not-allowed",
      `${JSON.stringify(container.slice(0, 80))} is no container that calculations may read: allowed are ` +
        `${containers.join(", ")}; name further ones in LEASEFOLD_SOURCES`,
    );
  };
  return {
    async list(source, ...rest) {
      check(source);
      return access.list(source, ...rest);
    },
    async read(file, ...rest) {
      check(file.path);
      return access.read(file, ...rest);
    },
  };
}

/**
 * The files of a calculation as blobs. A read is one Get Blob with `If-Match` on the ETag of the plan, so all chunks read one
 * content. A blob that was written again is another file, even if its metadata or its MD5 state the old hash: whoever
 * writes a blob states both. The bytes are those that are stored, whatever Content-Encoding a blob claims.
 */
export const blobFiles = (blobs: BlobStore): FileAccess => ({
  async list(source, cursor, signal) {
    const { container, name } = locationOf(source);
    // The metadata marks folders.
    const options = { cursor, signal, metadata: true };
    const page = await explained(source, () => blobs.list(container, name, options));
    const found = page.blobs.filter((blob) => !isFolder(blob));
    // The shortest name under a prefix comes first. Where that is a file, it alone is meant.
    const named = found[0]?.name === name;
    const files = (named ? found.slice(0, 1) : found).map((blob) => ({
      path: `${container}/${blob.name}`,
      bytes: blob.bytes,
      etag: blob.etag,
    }));
    return { files, cursor: named ? undefined : page.cursor };
  },

  async read(file, from, to, signal, spare) {
    const { container, name } = locationOf(file.path);
    // A range of no bytes cannot be asked for, and only an empty blob has one.
    const range = { ...(to > from ? { offset: from, count: to - from } : {}), signal, transient: true };
    return explained(file.path, async () => {
      // A program may have left the ETag out, which would be no condition at all.
      const found = await blobs.stream(container, name, { ...range, ifMatch: file.etag ?? "" });
      const isGone = async () => (await blobs.head(container, name, { signal })).kind === "missing";
      if (found.kind === "missing" || (found.kind === "conflict" && (await isGone())))
        throw new CalculationError("file-missing", `${file.path} is no longer there`);
      if (found.kind === "conflict")
        throw new CalculationError("file-changed", `${file.path} was changed after the run was planned`);
      // Not zeroed before, since `filled` writes every byte or throws.
      const memory = spare ?? Buffer.allocUnsafeSlow(to - from).buffer;
      return filled(new Uint8Array(memory), found.body, file.path);
    });
  },
});

async function filled(bytes: Uint8Array, body: AsyncIterable<Uint8Array>, path: string): Promise<Uint8Array> {
  let at = 0;
  for await (const piece of body) {
    if (at + piece.length <= bytes.length) bytes.set(piece, at);
    at += piece.length;
  }
  if (at === bytes.length) return bytes;
  throw new CalculationError("file-refused", `${path}: ${bytes.length} bytes were asked for, and ${at} came`);
}

/** An account with a hierarchical namespace lists its folders as empty blobs with this mark. */
const isFolder = ({ metadata }: ListedBlob): boolean => metadata["hdi_isfolder"] === "true";

/** Containers have 3 to 63 lower-case letters, digits and single dashes; some of the service's own begin with `$`. */
const containerPattern = /^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$|^\$(root|web|logs)$/;

function locationOf(path: string): { container: string; name: string } {
  const [container = "", ...rest] = path.split("/");
  if (containerPattern.test(container)) return { container, name: rest.join("/") };
  throw new CalculationError(
    "no-container",
    `${JSON.stringify(path)} begins with no container; a source is container/prefix, such as leasefold-inputs/sales/`,
  );
}

/** Turns what storage refuses for good into a `CalculationError`. */
async function explained<T>(path: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind === "busy") throw error;
    const [code, why] = reasonOf(error);
    throw new CalculationError(code, `${path} ${why}`, { cause: error });
  }
}

function reasonOf(error: StorageError): readonly [code: string, why: string] {
  if (error.storageCode === "ContainerNotFound") return ["no-container", "is in no container that is there"];
  if (error.kind === "denied") return ["file-denied", `may not be read by this app: ${error.message}`];
  return ["file-refused", `cannot be read: ${error.message}`];
}
