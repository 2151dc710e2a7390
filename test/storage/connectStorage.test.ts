import { describe, expect, it } from "vitest";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { ConfigError } from "../../src/engine/model/errors.ts";

const credential = { getToken: async () => null };

describe("connecting to storage", () => {
  it("takes the connection string of the emulator", () => {
    expect(connectStorage({ connectionString: "UseDevelopmentStorage=true" })).toHaveProperty("blobs");
  });

  it("takes service addresses and an identity", () => {
    const blobServiceUri = "https://x.blob.core.windows.net";
    const queueServiceUri = "https://x.queue.core.windows.net";
    expect(connectStorage({ blobServiceUri, queueServiceUri, credential })).toHaveProperty("queues");
  });

  it.each(["", "nonsense", "UseDevelopmentStorage=false", "AccountName=x;AccountKey=abc=="])(
    "says before the first call that a connection string is wrong: %s",
    (connectionString) => {
      expect(() => connectStorage({ connectionString })).toThrow(ConfigError);
    },
  );

  it("gives no token to an address without https", () => {
    const uris = { blobServiceUri: "http://x", queueServiceUri: "https://x" };
    expect(() => connectStorage({ ...uris, credential })).toThrow(ConfigError);
    expect(() => connectStorage({ ...uris, blobServiceUri: "nope", credential })).toThrow(ConfigError);
  });
});
