import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/**
 * Refuses requests that a page in the user's browser can send to an embedded instance, and those without its key.
 *
 * Not promised: anything against programs of the same user, which can read the key.
 */
export interface Refusal {
  readonly status: 400 | 401 | 403 | 413 | 421;
  readonly code: string;
  readonly detail: string;
}

/** With any port: a forwarded port is not ours. */
const loopbackHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i;

/**
 * Refuses a host name that is not this machine's (DNS rebinding: a page under a name that resolves to 127.0.0.1 is
 * same-origin), and requests that the browser marks as from another origin, such as another port of this machine.
 */
export function refusalOf(path: string | undefined, headers: IncomingHttpHeaders): Refusal | undefined {
  const { host = "", origin } = headers;
  // The absolute form would carry a second host name.
  if (path?.startsWith("/") !== true)
    return { status: 400, code: "bad-path", detail: "the request names no path of this server" };
  if (!loopbackHost.test(host) || !URL.canParse(`http://${host}`)) {
    return { status: 421, code: "other-host", detail: "Host: use 127.0.0.1 or localhost" };
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    return { status: 403, code: "other-origin", detail: "Origin: pages of other origins are not served" };
  }
  const site = headers["sec-fetch-site"];
  if (isVisit(headers)) return undefined;
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    return {
      status: 403,
      code: "other-origin",
      detail: "Sec-Fetch-Site: pages of other origins are not served",
    };
  }
  return undefined;
}

/**
 * A person follows a link to this server, in a terminal that is a page itself, or in the file of `ui --open`. Such a request
 * carries no key, so it gets the files of the page and no data; and no page can read or frame the answer.
 */
const isVisit = (headers: IncomingHttpHeaders): boolean =>
  headers["sec-fetch-mode"] === "navigate" &&
  headers["sec-fetch-dest"] === "document" &&
  headers.origin === undefined &&
  headers[keyHeader] === undefined;

/** The header in which Azure takes a function key as well. */
const keyHeader = "x-functions-key";

/** `hint` tells a person where the key is. */
export function refusalOfKey(headers: IncomingHttpHeaders, key: string, hint: string): Refusal | undefined {
  const given = headers[keyHeader];
  if (typeof given === "string" && timingSafeEqual(digest(given), digest(key))) return undefined;
  const why = given === undefined ? "is missing" : "is not the key of this start";
  return { status: 401, code: "bad-key", detail: `${keyHeader}: ${why}; ${hint}` };
}

const digest = (text: string): Buffer => hash("sha256", text, "buffer");
