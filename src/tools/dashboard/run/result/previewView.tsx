import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { count } from "../../../../engine/model/figures.ts";
import { Facts, Head, Scroll } from "../../parts/parts.tsx";
import { previewOf } from "./preview.ts";

export function PreviewView(of: {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly label: string;
}): JSX.Element {
  const preview = previewOf(of.contentType, of.bytes);
  switch (preview.kind) {
    case "picture":
      return <Picture bytes={of.bytes} contentType={preview.contentType} label={of.label} />;
    case "facts":
      return <Facts rows={preview.facts} />;
    case "none":
      return <p class="dim">{preview.why}</p>;
    case "text":
      return (
        <>
          <Scroll label={of.label}>
            <pre class="code">{preview.text}</pre>
          </Scroll>
          {preview.cut ? <p class="dim">Cut here; download it for all of it.</p> : null}
        </>
      );
    case "table":
      return (
        <>
          <Scroll label={of.label}>
            <table class="list values">
              <Head columns={preview.columns} isNumber={(at) => isNumeric(preview.rows, at)} />
              <tbody>
                {preview.rows.map((row, number) => (
                  <tr key={number}>
                    {row.map((value, index) => (
                      <td key={index} class={isNumeric(preview.rows, index) ? "number" : ""}>
                        {value}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
          {preview.more > 0 ? <p class="dim">and {count(preview.more)} more rows</p> : null}
        </>
      );
  }
}

/** Whether the first rows of a column are numbers, which then stand under each other. */
const isNumeric = (rows: readonly (readonly string[])[], column: number): boolean =>
  rows.length > 0 && rows.slice(0, 20).every((row) => /^-?[\d.,]+(e[+-]?\d+)?$|^$/i.test(row[column] ?? ""));

/** A picture as a data URL: the policy of the page allows no other source. */
function Picture(of: {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly label: string;
}): JSX.Element {
  const source = useMemo(() => `data:${of.contentType};base64,${base64Of(of.bytes)}`, [of.bytes]);
  return <img class="picture" src={source} alt={of.label} />;
}

/** In pieces, because the arguments of a function lie on the stack. */
function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8_192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(binary);
}
