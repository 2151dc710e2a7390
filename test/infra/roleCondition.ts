/**
 * Evaluates a condition of a role assignment (learn.microsoft.com/azure/role-based-access-control/conditions-format) for one
 * action on the blob of that path. Knows what the templates use: `!`, `AND`, `OR`, parentheses, `ActionMatches`, and
 * `StringLike` on the path; throws at anything else.
 */
export function conditionHolds(condition: string, action: string, path: string): boolean {
  const tokens =
    condition.match(
      /\(|\)|!|AND\b|OR\b|ActionMatches\{'[^']*'\}|@Resource\[[^\]]*\] StringLike '[^']*'|\S/g,
    ) ?? [];
  let at = 0;
  const take = (token: string): boolean => {
    if (tokens[at] !== token) return false;
    at += 1;
    return true;
  };
  const one = (): boolean => {
    if (take("!")) return !one();
    if (take("(")) {
      const inner = any();
      if (!take(")")) throw new Error(`no ) before ${tokens[at]}`);
      return inner;
    }
    const token = tokens[at] ?? "";
    at += 1;
    const matched = /^ActionMatches\{'.*\/(?:containers|queues)\/([^']*)'\}$/.exec(token)?.[1];
    if (matched !== undefined) return matched === action;
    const like = /^@Resource\[.*blobs:path\] StringLike '([^']*)'$/.exec(token)?.[1];
    if (like === undefined) throw new Error(`unknown in a condition: ${token}`);
    const pattern = like
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replaceAll("*", ".*")
      .replaceAll("?", ".");
    return new RegExp(`^${pattern}$`, "s").test(path);
  };
  const all = (): boolean => {
    let holds = one();
    while (take("AND")) holds = one() && holds;
    return holds;
  };
  const any = (): boolean => {
    let holds = all();
    while (take("OR")) holds = all() || holds;
    return holds;
  };
  const holds = any();
  if (at !== tokens.length) throw new Error(`more than a condition: ${tokens[at]}`);
  return holds;
}
