import { expect, test } from "vitest";
import { dataStorageFrom } from "../../src/storage/azure/dataStorage.ts";

const uris = {
  DataStorage__blobServiceUri: "https://a.blob.core.windows.net",
  DataStorage__queueServiceUri: "https://a.queue.core.windows.net",
};

test("a connection string, or both addresses with an identity", () => {
  expect(dataStorageFrom({ DataStorage: "UseDevelopmentStorage=true" })).toEqual({
    connectionString: "UseDevelopmentStorage=true",
  });
  expect(dataStorageFrom({ ...uris, DataStorage__credential: "managedidentity" })).toMatchObject({
    blobServiceUri: uris.DataStorage__blobServiceUri,
    queueServiceUri: uris.DataStorage__queueServiceUri,
  });
});

test.each([
  [{}, "DataStorage is not set"],
  [{ ...uris, DataStorage__blobServiceUri: "" }, "DataStorage__blobServiceUri is not set"],
  [{ ...uris, DataStorage__queueServiceUri: "" }, "DataStorage__queueServiceUri is not set"],
  [{ ...uris, DataStorage: "x" }, "DataStorage and DataStorage__blobServiceUri are both set"],
  [
    { DataStorage: "x", DataStorage__queueServiceUri: "y" },
    "DataStorage and DataStorage__queueServiceUri are both",
  ],
])("%j is refused in one line that names the setting", (env, line) => {
  expect(() => dataStorageFrom(env)).toThrow(line);
});
