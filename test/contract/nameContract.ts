import { expect, it } from "vitest";
import { freshContainer, freshName, type OpenAccount, ofKind, refusal, textOf } from "./accounts.ts";

/** A URL drops dot segments: a name with them would reach another blob, or another container. */
export function nameContract(open: OpenAccount): void {
  const refused = refusal("InvalidResourceName", 400);

  it.each(["..", ".", "a/..", "../b", "a/../b", "a/./b", "a/../../other/b"])(
    "every call refuses the blob name %s",
    async (name) => {
      const account = open();
      const { blobs } = account.storage;
      const container = await freshContainer(account);
      const ifMatch = "0x1";
      const body = (async function* () {
        yield new Uint8Array(1);
      })();
      const calls = [
        () => blobs.create(container, name, "x"),
        () => blobs.replace(container, name, "x", { ifMatch }),
        () => blobs.upload(container, name, body),
        () => blobs.read(container, name),
        () => blobs.stream(container, name),
        () => blobs.head(container, name),
        () => blobs.setMetadata(container, name, {}, { ifMatch }),
        () => blobs.remove(container, name),
        () => blobs.removeMany(container, ["a", name]),
        async () => account.storage.lease(container, name).view(),
      ];
      for (const call of calls) await expect(call()).rejects.toEqual(refused);
    },
  );

  it("a name that climbs out of its container creates nothing in the other one", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const other = freshName();
    await blobs.ensureContainer(other);
    await expect(blobs.create(container, `../${other}/planted`, "x")).rejects.toEqual(refused);
    expect((await blobs.list(other, "")).blobs).toEqual([]);
  });

  it("dots within a segment are part of the name", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    for (const name of ["a..b", "...", ".a/b.", "a.b/c"]) {
      await blobs.create(container, name, name);
      expect(textOf(ofKind(await blobs.read(container, name), "found").body)).toBe(name);
    }
  });
}
