/** The methods that functions are registered for. The host itself answers any other, such as TRACE, with 404. */
const known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
export type HttpMethod = (typeof known)[number];

/** The methods that change nothing; a page and an API that are read-only take no other. */
export const isReading = (method: string): boolean => ["GET", "HEAD", "OPTIONS"].includes(method);

/** What reads can also be asked for without the body, which the host then leaves out. */
export const methodsOf = (method: HttpMethod): HttpMethod[] =>
  method === "GET" ? ["GET", "HEAD"] : [method];

/** A function for the methods of one route that no other function takes. */
interface OtherMethods {
  readonly name: string;
  readonly route: string;
  readonly methods: HttpMethod[];
  /** For the header `Allow`. */
  readonly allow: string;
}

/**
 * The functions that answer wrong methods and OPTIONS. The host promises no order among routes that match the same
 * request, so none may: these take other methods than the functions beside them, and no two templates match one path. A
 * catch-all route would match every path, so the host answers paths of no route.
 */
export function otherMethods(
  routes: readonly { readonly name: string; readonly method: HttpMethod; readonly route: string }[],
): OtherMethods[] {
  return [...new Set(routes.map(({ route }) => route))].map((route) => {
    const same = routes.filter((one) => one.route === route);
    const taken = new Set<HttpMethod>(same.flatMap(({ method }) => methodsOf(method)));
    const methods = known.filter((one) => !taken.has(one));
    return { name: `${same[0]?.name}Others`, route, methods, allow: [...taken, "OPTIONS"].join(", ") };
  });
}
