import type { BlobServiceClient } from "@azure/storage-blob";
import { azureCalls, dateMsOf } from "./azureCalls.ts";
import { type ListAnswer, listAnswerOf } from "./listAnswer.ts";
import { withListText } from "./listText.ts";
import type { BlobStore, ListOptions } from "./ports.ts";
import { storageErrorOfCode } from "./storageErrors.ts";

const call = azureCalls("blob");

/** The lists of the blob port, one request per page: the SDK asks, and the answer is read here. */
export function azureList(service: BlobServiceClient): Pick<BlobStore, "list" | "listFolders"> {
  return {
    list(container, prefix, options = {}) {
      const what = `List Blobs ${container}/${prefix}`;
      return call(what, options, async ({ signal }) => {
        const pages = service
          .getContainerClient(container)
          .listBlobsFlat({ prefix, includeMetadata: options.metadata === true, abortSignal: signal })
          .byPage(pageOf(options));
        const { folders: _, ...page } = await firstOf(pages, what);
        return page;
      });
    },

    listFolders(container, prefix, options = {}) {
      const what = `List Blobs ${container}/${prefix}`;
      return call(what, options, async ({ signal }) => {
        const pages = service
          .getContainerClient(container)
          .listBlobsByHierarchy("/", { prefix, abortSignal: signal })
          .byPage(pageOf(options));
        const { blobs: _, ...page } = await firstOf(pages, what);
        return page;
      });
    },
  };
}

const pageOf = ({ pageSize, cursor }: ListOptions) => ({
  maxPageSize: pageSize ?? 5000,
  ...(cursor === undefined ? {} : { continuationToken: cursor }),
});

type Pages = AsyncIterator<{ readonly date?: Date }>;

async function firstOf(pages: Pages, what: string): Promise<ListAnswer & { readonly dateMs: number }> {
  const { answer, text } = await withListText(() => pages.next());
  return { ...readable(text, what), dateMs: dateMsOf(answer.value) };
}

/** An answer that is cut off or garbled is one to ask for again, like any other that did not come through. */
function readable(text: string, what: string): ListAnswer {
  try {
    return listAnswerOf(text);
  } catch (error) {
    throw storageErrorOfCode("blob", "", 200, `${what}, an answer that cannot be read`, error);
  }
}
