import { actorOf, callerWithKey, userHeader } from "../../engine/model/labels.ts";
import type { ApiRequest } from "../api/apiRequest.ts";

/**
 * Who asks over HTTP. App Service tells of the person or program that has signed in, and takes these headers off every other
 * request, but only where its authentication is on; it then sets `WEBSITE_AUTH_ENABLED`
 * (learn.microsoft.com/azure/app-service/reference-app-settings). Anywhere else a caller could write them.
 *
 * Not promised: that a holder of a key is who it says. What it says is recorded as `user:`, never as `entra:`.
 */
export function callerOf(env: Readonly<Record<string, string | undefined>>) {
  const signsIn = env["WEBSITE_AUTH_ENABLED"]?.toLowerCase() === "true";
  return (headers: ApiRequest["headers"]): string => {
    const of = (name: string): string => headers.get(name)?.trim() ?? "";
    const principal = of("x-ms-client-principal-name") || of("x-ms-client-principal-id");
    if (signsIn && principal !== "") return actorOf("entra", principal);
    const user = plain(of(userHeader));
    return user === "" ? callerWithKey : actorOf("user", user);
  };
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text).trim();
  } catch {
    return text;
  }
}
