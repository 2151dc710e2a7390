import { BlobServiceClient } from "@azure/storage-blob";
import { describe, expect, it } from "vitest";
import { removeInBatches } from "../../src/azure/azureBatch.ts";

describe("a batch of deletes", () => {
  it("is signed with one token of the identity, however many blobs it names", async () => {
    let tokens = 0;
    let bearers = 0;
    const credential = {
      getToken: async () => {
        tokens += 1;
        return { token: `t${tokens}`, expiresOnTimestamp: Date.now() + 3_600_000 };
      },
    };
    const service = new BlobServiceClient("https://account.example", credential, {
      retryOptions: { maxTries: 1 },
      httpClient: {
        sendRequest: async (request) => {
          bearers += [...String(request.body).matchAll(/^authorization: Bearer t/gim)].length;
          throw Object.assign(new Error("no network here"), { code: "ECONNREFUSED" });
        },
      },
    });
    const names = Array.from({ length: 20 }, (_, index) => `${index}`);
    const removed = removeInBatches(service.getContainerClient("c"), names, undefined);
    await expect(removed).rejects.toMatchObject({ kind: "busy" });
    // One more is the batch request's own.
    expect([bearers, tokens]).toEqual([20, 2]);
  });
});
