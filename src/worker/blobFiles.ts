import type { FileAccess } from "../calculations/files.ts";
import { CalculationError, StorageError } from "../model/errors.ts";
import type { BlobStore } from "../storage/ports.ts";

/** The files of a calculation as blobs. A read is one Get Blob with `If-Match`: no chunk sees a mix of two contents. */
export const blobFiles = (blobs: BlobStore): FileAccess => ({
  async list(source, cursor) {
    const { container, name } = placeOf(source);
    const page = await explained(source, () => blobs.list(container, name, { cursor }));
    const files = page.blobs.map(({ name, bytes, etag }) => ({ path: `${container}/${name}`, bytes, etag }));
    return { files, cursor: page.cursor };
  },

  async read({ path, etag }, from, to) {
    const { container, name } = placeOf(path);
    return explained(path, async () => {
      const range = { offset: from, count: to - from, ifMatch: etag };
      const found = await blobs.stream(container, name, range);
      if (found.kind === "missing") throw new CalculationError("file-missing", `${path} is no longer there`);
      if (found.kind === "conflict")
        throw new CalculationError("file-changed", `${path} was changed after the run was planned`);
      const bytes = new Uint8Array(to - from);
      let at = 0;
      for await (const piece of found.body) {
        bytes.set(piece, at);
        at += piece.length;
      }
      return bytes;
    });
  },
});

function placeOf(path: string): { container: string; name: string } {
  const slash = path.indexOf("/");
  return slash === -1
    ? { container: path, name: "" }
    : { container: path.slice(0, slash), name: path.slice(slash + 1) };
}

/** What storage refuses for good is said in words of the calculation. */
async function explained<T>(path: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind === "busy") throw error;
    if (error.kind === "denied") {
      throw new CalculationError("file-denied", `${path} may not be read by this app: ${error.message}`, {
        cause: error,
      });
    }
    const what = error.storageCode === "ContainerNotFound" ? "there is no such container" : error.message;
    throw new CalculationError("no-container", `${path}: ${what}`, { cause: error });
  }
}
