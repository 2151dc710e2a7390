import { describe, expect, it } from "vitest";
import { listAnswerOf } from "../../src/azure/azureList.ts";

/** As the service writes it, in one line and with a byte order mark (learn.microsoft.com/rest/api/storageservices/list-blobs). */
const answer = (blobs: string, rest = "<NextMarker />"): string =>
  '\uFEFF<?xml version="1.0" encoding="utf-8"?>' +
  '<EnumerationResults ServiceEndpoint="https://account.blob.core.windows.net/" ContainerName="leasefold-runs">' +
  `<Prefix>r&amp;d/</Prefix><MaxResults>5000</MaxResults><Delimiter>/</Delimiter><Blobs>${blobs}</Blobs>${rest}</EnumerationResults>`;

const properties =
  "<Properties><Creation-Time>Mon, 27 Jul 2026 10:12:13 GMT</Creation-Time>" +
  "<Last-Modified>Mon, 27 Jul 2026 10:12:14 GMT</Last-Modified><Etag>0x8DCB0F7E2E3B5</Etag>" +
  "<ResourceType>file</ResourceType><Content-Length>812</Content-Length>" +
  "<Content-Type>application/json; ms=812; attempt=1</Content-Type><Content-Encoding /><Content-Language />" +
  "<Content-CRC64 /><Content-MD5>XrY7u+Ae7tCTyyK7j1rNww==</Content-MD5><Cache-Control /><Content-Disposition />" +
  "<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>" +
  "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><ServerEncrypted>true</ServerEncrypted></Properties>";

const blob = (name: string, more = ""): string =>
  `<Blob><Name>${name}</Name>${properties}${more}<OrMetadata /></Blob>`;

const only = (blobs: string) => {
  const { blobs: read } = listAnswerOf(answer(blobs));
  expect(read).toHaveLength(1);
  return read[0];
};

describe("a list answer of the service", () => {
  it("gives what the port promises of a blob, and nothing else", () => {
    expect(listAnswerOf(answer(blob("r/1", "<Metadata><sha>ab</sha><Rows>7</Rows></Metadata>")))).toEqual({
      blobs: [
        {
          name: "r/1",
          etag: "0x8DCB0F7E2E3B5",
          lastModifiedMs: Date.UTC(2026, 6, 27, 10, 12, 14),
          bytes: 812,
          contentType: "application/json; ms=812; attempt=1",
          metadata: { sha: "ab", rows: "7" },
        },
      ],
      folders: [],
    });
  });

  it("may be empty and still have a next page", () => {
    expect(listAnswerOf(answer(""))).toEqual({ blobs: [], folders: [] });
    const none =
      "<EnumerationResults><Blobs />\r\n\t<NextMarker>2!92!a&amp;b</NextMarker></EnumerationResults>\n";
    expect(listAnswerOf(none)).toEqual({ blobs: [], folders: [], cursor: "2!92!a&b" });
  });

  it("may be laid out in lines", () => {
    const lines = answer(blob("a") + blob("b"))
      .replaceAll("><", ">\n  <")
      .replaceAll(/>\n {2}<\//g, "></");
    expect(listAnswerOf(lines).blobs.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("gives names and metadata without their escapes", () => {
    const escaped = "&lt;a&gt; &amp;amp; &quot;b&quot; &apos;c&apos; &#233;&#x1F600;&#xD; ü日😀";
    const plain = "<a> &amp; \"b\" 'c' é😀\r ü日😀";
    expect(only(blob(escaped, `<Metadata><k>${escaped}</k></Metadata>`))).toMatchObject({
      name: plain,
      metadata: { k: plain },
    });
    expect(only(blob("  a  b "))).toMatchObject({ name: "  a  b " });
    expect(only(blob("100%25"))).toMatchObject({ name: "100%25" });
  });

  it("gives names that XML cannot hold, which come percent-encoded", () => {
    const named = (tag: string) => only(`<Blob><Name ${tag}</Name>${properties}</Blob>`)?.name;
    expect(named('Encoded="true">a%EF%BF%BE%2Fb%20c')).toBe("a\uFFFE/b c");
    expect(named("Encoded='true'>%25&amp;")).toBe("%&");
    expect(named('Encoded="false">a%20b')).toBe("a%20b");
  });

  it("takes any key of metadata for a key, whatever else it means", () => {
    const keys = ["Name", "Blob", "Properties", "Etag", "Metadata", "__proto__", "x-ms-invalid-name"];
    const metadata = keys.map((key) => `<${key}>${key}!</${key}>`).join("");
    const read = only(blob("r/1", `<Metadata Encrypted="true">${metadata}</Metadata>`));
    expect(Object.entries(read?.metadata ?? {})).toEqual(keys.map((key) => [key.toLowerCase(), `${key}!`]));
    expect(read).toMatchObject({ name: "r/1", etag: "0x8DCB0F7E2E3B5" });
  });

  it("may leave metadata and properties empty or out", () => {
    for (const none of ["", "<Metadata />", "<Metadata/>", "<Metadata></Metadata>"]) {
      expect(only(blob("a", none))?.metadata).toEqual({});
    }
    expect(only(blob("a", "<Metadata><k /><l></l></Metadata>"))?.metadata).toEqual({ k: "", l: "" });
    for (const bare of ["", "<Properties />", "<Properties><Content-Type /></Properties>"]) {
      expect(only(`<Blob><Name>a</Name>${bare}</Blob>`)).toMatchObject({
        etag: "",
        bytes: 0,
        lastModifiedMs: 0,
      });
    }
    expect(only("<Blob><Name>a</Name></Blob>")?.contentType).toBe("application/octet-stream");
  });

  it("may hold ETags in quotes, other kinds of blobs and elements of later versions", () => {
    const page = properties
      .replace("0x8DCB0F7E2E3B5", "&quot;0x1&quot;")
      .replace(
        "BlockBlob",
        "PageBlob</BlobType><x-ms-blob-sequence-number>1</x-ms-blob-sequence-number><BlobType>",
      );
    const more =
      "<Deleted>true</Deleted><Snapshot>2026-07-27T10:12:14.0Z</Snapshot><VersionId>1</VersionId><Name2>no</Name2>" +
      "<Tags><TagSet><Tag><Key>Name</Key><Value>Etag</Value></Tag></TagSet></Tags><OrMetadata><Name>no</Name></OrMetadata>";
    expect(only(`<Blob>${more}<Name>disk</Name>${page}</Blob>`)).toMatchObject({
      name: "disk",
      etag: "0x1",
      bytes: 812,
    });
  });

  it("gives folders beside blobs, those with properties of their own too", () => {
    const folders = `<BlobPrefix><Name>a&amp;b/</Name></BlobPrefix><BlobPrefix>${properties}<Name Encoded="true">c%20d/</Name></BlobPrefix>`;
    const read = listAnswerOf(answer(`${blob("a")}${folders}${blob("z")}`));
    expect(read.folders).toEqual(["a&b/", "c d/"]);
    expect(read.blobs.map(({ name }) => name)).toEqual(["a", "z"]);
  });
});

describe("a list answer that cannot be trusted", () => {
  it("throws wherever it breaks off", () => {
    const whole = answer(blob("r/1", "<Metadata><k>v&amp;w</k></Metadata>"), "<NextMarker>m</NextMarker>");
    expect(listAnswerOf(whole)).toMatchObject({ cursor: "m" });
    for (let end = 0; end < whole.length; end += 1) {
      expect(() => listAnswerOf(whole.slice(0, end)), whole.slice(0, end)).toThrow(SyntaxError);
    }
  });

  it.each([
    ["nothing", ""],
    ["no XML", "not here"],
    ["another answer", "<Error><Code>x</Code></Error>"],
    ["a list of containers", "<EnumerationResults><Containers /><NextMarker /></EnumerationResults>"],
    ["text after the end", `${answer("")}x`],
    ["a second root", `${answer("")}<a/>`],
    ["text between elements", answer("x")],
    ["an element within a name", answer(blob("a<b/>"))],
    ["an end tag of another element", answer(blob("a").replace("</Blob>", "</Blot>"))],
    ["a blob without a name", answer(`<Blob>${properties}</Blob>`)],
    ["a folder without a name", answer("<BlobPrefix><Name /></BlobPrefix>")],
    ["a comment", answer("<!-- a -->")],
    ["an unknown entity", answer(blob("a&nbsp;b"))],
    ["a bare ampersand", answer(blob("a & b"))],
    ["a character that does not exist", answer(blob("&#x110000;"))],
    ["a length that is no number", answer(blob("a").replace(">812<", ">8x<"))],
    ["a time that is none", answer(blob("a").replace("Mon, 27 Jul 2026 10:12:14 GMT", "never"))],
  ])("throws at %s", (_, xml) => {
    expect(() => listAnswerOf(xml)).toThrow(SyntaxError);
  });

  it("throws at a percent-encoded name that does not decode", () => {
    expect(() => listAnswerOf(answer('<Blob><Name Encoded="true">%E0%A4</Name></Blob>'))).toThrow(URIError);
  });
});
