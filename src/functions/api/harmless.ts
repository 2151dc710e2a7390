import type { HttpResponseInit } from "@azure/functions";

/**
 * Makes an answer that a browser cannot run anything of, whatever a calculation or a caller put into it: the API's origin
 * has function keys within reach. Every answer goes through here, problems and health included.
 */
export const harmless = <T extends HttpResponseInit>(answer: T): T => ({
  ...answer,
  headers: { ...(answer.headers as Record<string, string> | undefined), ...harmlessHeaders },
});

export const harmlessHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'",
};
