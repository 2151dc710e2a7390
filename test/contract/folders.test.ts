import { describe, expect, inject, it } from "vitest";
import {
  freshContainer,
  freshName,
  memoryAccount,
  type OpenAccount,
  realAccount,
  refusal,
} from "./accounts.ts";

const accounts: readonly { readonly title: string; readonly open: OpenAccount }[] = [
  { title: "in-memory storage", open: memoryAccount },
  { title: "Azurite through the Azure SDKs", open: () => realAccount(inject("azurite")) },
];

describe.each(accounts)("folders on $title", ({ open }) => {
  const filled = async (names: readonly string[]) => {
    const account = open();
    const container = await freshContainer(account);
    for (const name of names) await account.storage.blobs.create(container, name, "");
    return { blobs: account.storage.blobs, container, meter: account.storage.meter };
  };

  it("gives each folder below the prefix once, in order, and no blob beside it", async () => {
    const { blobs, container } = await filled(["b/1", "b/2", "a/x/1", "a/y/1", "c", "a-b/1", "_d/1"]);
    expect((await blobs.listFolders(container, "")).folders).toEqual(["_d/", "a-b/", "a/", "b/"]);
    expect((await blobs.listFolders(container, "a/")).folders).toEqual(["a/x/", "a/y/"]);
    expect((await blobs.listFolders(container, "none/")).folders).toEqual([]);
  });

  it("gives folders with any characters in their names", async () => {
    const folders = ["a b/", "a&b/", "a<b>/", `a"b'c/`, "é日/"];
    const { blobs, container } = await filled(folders.map((folder) => `${folder}1`));
    expect(new Set((await blobs.listFolders(container, "")).folders)).toEqual(new Set(folders));
  });

  it("gives every folder exactly once over pages of two, whatever lies in them", async () => {
    const ids = ["r1", "r2", "r3", "r4", "r5"];
    const { blobs, container } = await filled(
      ids.flatMap((id) => [`${id}/spec.json`, `${id}/uid/state.json`]),
    );
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await blobs.listFolders(container, "", { cursor, pageSize: 2 });
      expect(page.folders.length).toBeLessThanOrEqual(2);
      seen.push(...page.folders);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(ids.map((id) => `${id}/`));
  });

  it("bills a listing of folders as one list and refuses a container that is not there", async () => {
    const { blobs, container, meter } = await filled(["a/1"]);
    const before = meter.counts().list;
    const page = await blobs.listFolders(container, "");
    expect(page.dateMs).toBeGreaterThan(0);
    expect(meter.counts().list - before).toBe(1);
    await expect(blobs.listFolders(freshName(), "")).rejects.toEqual(refusal("ContainerNotFound", 404));
  });
});
