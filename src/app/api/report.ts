import { hash } from "node:crypto";
import type { Client } from "../../engine/client/client.ts";
import { type ReportFacts, reportFacts } from "../../engine/client/reportFacts.ts";
import { builtFile, pageFile } from "./page.ts";

/** `dist/report.cjs`, from `packages/dashboard/report`: a bundle of its own, for it is TSX, and few processes need it. */
interface Renderer {
  renderReport(facts: ReportFacts, page: { readonly style: string; readonly policy: string }): string;
}

/** The run as one HTML file, with the dashboard's parts and style. Throws `InputError` for an unknown run. */
export async function report(client: Client, id: string): Promise<string> {
  const facts = await reportFacts(client, id);
  const { renderReport }: Renderer = await import(builtFile("report.cjs"));
  const style = pageFile("app.css").body.toString();
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash("sha256", style, "base64")}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return renderReport(facts, { style, policy });
}
