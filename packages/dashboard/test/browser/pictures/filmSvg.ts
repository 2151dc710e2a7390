/** One picture of a film: its markup, and how long it is shown. */
interface Picture {
  readonly markup: string;
  readonly ms: number;
}

export interface Film {
  readonly width: number;
  readonly height: number;
  /** Read out instead of the picture. */
  readonly title: string;
  readonly style: string;
  /** What pictures use by its id. */
  readonly defs?: string;
  readonly pictures: readonly Picture[];
}

/**
 * An SVG that shows one picture after the other, for ever: they stand below each other, and a strip moves past a window. It
 * has no script, so that it moves in an `<img>` too. Who asks for less motion gets the last picture.
 */
export function filmSvg({ width, height, title, style, defs = "", pictures }: Film): string {
  const totalMs = pictures.reduce((sum, { ms }) => sum + ms, 0);
  const last = (pictures.length - 1) * height;
  let atMs = 0;
  const steps = pictures.map(({ ms }, index) => {
    const at = ((100 * atMs) / totalMs).toFixed(2);
    atMs += ms;
    return `${at}%{transform:translateY(-${index * height}px)}`;
  });
  const strip = pictures.map(
    ({ markup }, index) => `<g transform="translate(0 ${index * height})">${markup}</g>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>${style}
@keyframes film{${steps.join("")}to{transform:translateY(-${last}px)}}
.film{animation:film ${totalMs}ms step-end infinite}
@media (prefers-reduced-motion:reduce){.film{animation:none;transform:translateY(-${last}px)}}</style>
<defs><clipPath id="window"><rect width="${width}" height="${height}" rx="8"/></clipPath>${defs}</defs>
<g clip-path="url(#window)"><g class="film">
${strip.join("\n")}
</g></g>
</svg>
`;
}

export const escaped = (text: string): string => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
