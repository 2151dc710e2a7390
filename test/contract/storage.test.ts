import { describe, inject } from "vitest";
import { memoryAccount, type OpenAccount, realAccount } from "./accounts.ts";
import { blobContract } from "./blobContract.ts";
import { encodedContract } from "./encodedContract.ts";
import { leaseContract } from "./leaseContract.ts";
import { listContract } from "./listContract.ts";
import { meterContract } from "./meterContract.ts";
import { nameContract } from "./nameContract.ts";
import { queueContract } from "./queueContract.ts";
import { removalContract } from "./removalContract.ts";
import { uploadContract } from "./uploadContract.ts";

/**
 * What the ports promise, held against in-memory storage and against a real Azurite, so that a simulation on the
 * former says something about Azure. Where Azurite itself differs, see azuriteDifferences.test.ts.
 */

const accounts: readonly { readonly title: string; readonly open: OpenAccount }[] = [
  { title: "in-memory storage", open: memoryAccount },
  { title: "Azurite through the Azure SDKs", open: () => realAccount(inject("azurite")) },
];

// Calls are counted, and the SDK repeats one that a busy machine answers late.
describe.each(accounts)("$title", { retry: 2 }, ({ open }) => {
  describe("blobs", () => blobContract(open));
  describe("names of blobs", () => nameContract(open));
  describe("uploads", () => uploadContract(open));
  describe("removals of many blobs", () => removalContract(open));
  describe("lists of blobs", () => listContract(open));
  describe("leases", () => leaseContract(open));
  describe("queues", () => queueContract(open));
  describe("the meter", () => meterContract(open));
});

describe("blobs with a Content-Encoding, which only a service has", () => {
  encodedContract(() => inject("azurite"));
});
