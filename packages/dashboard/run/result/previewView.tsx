import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { count } from "../../../../src/engine/model/figures.ts";
import { Facts, Head, Scroll } from "../../parts/parts.tsx";
import { Figures } from "../runFigures.tsx";
import { type Preview, previewOf } from "./preview.ts";

export function PreviewView(of: {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly label: string;
}): JSX.Element {
  return <Shown of={{ ...of, preview: useMemo(() => previewOf(of.contentType, of.bytes), [of.bytes]) }} />;
}

interface ShownOf {
  readonly preview: Preview;
  readonly bytes: Uint8Array;
  readonly label: string;
}

function Shown({ of }: { readonly of: ShownOf }): JSX.Element {
  const { preview } = of;
  switch (preview.kind) {
    case "picture":
      return <Picture bytes={of.bytes} contentType={preview.contentType} label={of.label} />;
    case "facts":
      return isShort(preview.facts) ? (
        <Figures large figures={preview.facts.map(([name, value]) => ({ name, value: grouped(value) }))} />
      ) : (
        <Facts rows={preview.facts} />
      );
    case "parts":
      return (
        <div class="parts">
          {preview.parts.map((part) => (
            <div key={part.title}>
              {part.title === "" ? null : <h3>{part.title}</h3>}
              <Shown of={{ ...of, preview: part.preview, label: `${of.label}: ${part.title}` }} />
            </div>
          ))}
        </div>
      );
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

/** Few short values are figures, and stand large. */
const isShort = (facts: readonly (readonly [string, string])[]): boolean =>
  facts.length <= 16 && facts.every(([, value]) => value.length <= 28);

/** `4,118,054,813`; anything but a whole number of five digits or more stays as it is. */
const grouped = (value: string): string =>
  /^-?\d{5,}$/.test(value) ? value.replaceAll(/\B(?=(\d{3})+$)/g, ",") : value;

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
