import { expect, it } from "vitest";
import type { ListedBlob } from "../../src/engine/storage/ports.ts";
import { freshContainer, type OpenAccount, ofKind } from "./accounts.ts";

export function listContract(open: OpenAccount): void {
  it("lists the blobs under a prefix in lexical order of their names", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    for (const name of ["p/10", "p/2", "p/1", "q/1", "p", "p/1/x"]) await blobs.create(container, name, "");
    const names = async (prefix: string) =>
      (await blobs.list(container, prefix)).blobs.map((blob) => blob.name);
    expect(await names("p/")).toEqual(["p/1", "p/1/x", "p/10", "p/2"]);
    expect(await names("")).toEqual(["p", "p/1", "p/1/x", "p/10", "p/2", "q/1"]);
    expect(await names("none/")).toEqual([]);
  });

  it("gives the content type with its parameters, and metadata only when asked", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const contentType = "application/json; ms=812; attempt=1";
    await blobs.create(container, "part", "12345", { contentType, metadata: { sha: "x" } });
    const head = ofKind(await blobs.head(container, "part"), "found");
    const plain = await blobs.list(container, "");
    expect(plain.blobs).toEqual([{ name: "part", ...head.properties, metadata: {} }]);
    expect(plain.blobs[0]).toMatchObject({ contentType, bytes: 5 });
    const full = await blobs.list(container, "", { metadata: true });
    expect(full.blobs).toEqual([{ name: "part", ...head.properties }]);
    expect(plain.cursor).toBeUndefined();
  });

  it("gives an ETag that a conditional write accepts", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    await blobs.create(container, "marker", "");
    const [listed] = (await blobs.list(container, "")).blobs;
    const ifMatch = listed?.etag ?? "";
    expect(await blobs.setMetadata(container, "marker", { a: "1" }, { ifMatch })).toMatchObject({
      kind: "replaced",
    });
  });

  it("gives every blob once over pages of five, with metadata", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const names = Array.from({ length: 12 }, (_, index) => `n/${String(index).padStart(3, "0")}`);
    await Promise.all(names.map((name) => blobs.create(container, name, "", { metadata: { name } })));
    await blobs.create(container, "other", "");
    const seen: ListedBlob[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await blobs.list(container, "n/", { metadata: true, pageSize: 5, cursor });
      expect(page.blobs.length).toBeLessThanOrEqual(5);
      seen.push(...page.blobs);
      cursor = page.cursor;
      pages += 1;
    } while (cursor !== undefined);
    expect(seen.map((blob) => blob.name)).toEqual(names);
    expect(seen.map((blob) => blob.metadata["name"])).toEqual(names);
    expect(pages).toBe(3);
  });

  it("gives names and metadata with any characters as they were written", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const names = ["a b", "a&b", "a&amp;b", "a<b>", `a"b'c`, "a%20b", "a+b", "日本/é", "😀", "x;y=1"];
    const metadata = { text: `<&> "' &amp; a=b;c`, empty: "", name: "x", etag: "y" };
    for (const name of names) await blobs.create(container, name, "", { metadata });
    const { blobs: listed } = await blobs.list(container, "", { metadata: true });
    expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(names));
    for (const { name, etag, metadata: read } of listed) {
      expect(read).toEqual(metadata);
      expect(ofKind(await blobs.head(container, name), "found").properties.etag).toBe(etag);
    }
  });

  it("gives each of many lists at once its own blobs", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const prefixes = Array.from({ length: 20 }, (_, index) => `p${index + 10}/`);
    await Promise.all(prefixes.map((prefix) => blobs.create(container, `${prefix}1`, "")));
    const pages = await Promise.all(prefixes.map((prefix) => blobs.list(container, prefix)));
    expect(pages.map((page) => page.blobs.map(({ name }) => name))).toEqual(
      prefixes.map((prefix) => [`${prefix}1`]),
    );
  });
}
