import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, InputError, messageOf } from "../../engine/model/errors.ts";
import { type ApiLog, harmless, problemOf } from "./answer.ts";
import { type ApiAnswer, type ApiRequest, isKnown } from "./apiRequest.ts";

/** The files of the dashboard, and the document of the API, as the build leaves them in `dist/ui`: no data, so they are served to anyone. */
const types: Readonly<Record<string, string>> = {
  "index.html": "text/html; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
  "openapi.json": "application/json",
};

/**
 * Only its own script and style run in the page, and it speaks to its own origin only. Results are shown as pictures from
 * `data:` addresses, never as pages.
 */
const headers = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // No text becomes markup or code: the page has no policy that would let it.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** In the bundle the page lies beside the app, in the source tree in `dist`. */
const builtFolders = [import.meta.dirname, join(import.meta.dirname, "../../../dist")];
const pageFolders = builtFolders.map((folder) => join(folder, "ui"));

/** The path of a file that the build makes. Throws `ConfigError` where the build lacks it. */
export function builtFile(name: string, folders: readonly string[] = builtFolders): string {
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new ConfigError("no-page", `the build has no ${name} of the dashboard; run "npm run build"`);
}

const read = new Map<string, { readonly body: Buffer; readonly etag: string }>();

/** Reads a file once. Throws `InputError` for any other name, and `ConfigError` where the build lacks it. */
export function pageFile(name: string, folders: readonly string[] = pageFolders) {
  if (!Object.hasOwn(types, name)) {
    const message = `file: the page has no ${JSON.stringify(name.slice(0, 80))}`;
    throw new InputError("unknown", "unknown-file", message);
  }
  const path = builtFile(name, folders);
  const known = read.get(path);
  if (known !== undefined) return known;
  const body = readFileSync(path);
  const file = { body, etag: `"${hash("sha256", body, "base64url").slice(0, 22)}"` };
  read.set(path, file);
  return file;
}

/** Answers `ui` and `ui/{file}`. A cache may keep a file, and asks each time whether it is still the same. */
export function givePage(
  request: ApiRequest,
  log: ApiLog,
  folders: readonly string[] = pageFolders,
): ApiAnswer {
  try {
    const { file } = request.params;
    // The page names its files relative to `/api/ui`.
    if (file === undefined && new URL(request.url).pathname.endsWith("/")) {
      return harmless({ status: 308, headers: { location: "../ui" } });
    }
    const { body, etag } = pageFile(file ?? "index.html", folders);
    const all = { ...headers, etag, "cache-control": "no-cache" };
    if (isKnown(request, etag)) return { status: 304, headers: all };
    return { status: 200, headers: { ...all, "content-type": types[file ?? "index.html"] ?? "" }, body };
  } catch (error) {
    if (error instanceof ConfigError) log.error(`http: ${messageOf(error)}`);
    return harmless(problemOf(error));
  }
}
