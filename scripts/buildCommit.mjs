import { spawnSync } from "node:child_process";

/**
 * The commit that a build is made of, which `GET /api/instance` answers: a deployment waits for it, since versions do not
 * change with each. `-dirty` where files differ from it; undefined outside of a clone.
 *
 * @param {string} root
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {string | undefined}
 */
export function buildCommit(root, env) {
  if (env["GITHUB_SHA"]) return env["GITHUB_SHA"];
  const git = (...args) => spawnSync("git", args, { cwd: root, encoding: "utf8" });
  const head = git("rev-parse", "HEAD");
  if (head.status !== 0) return undefined;
  const dirty = git("diff", "--quiet", "HEAD").status === 0 ? "" : "-dirty";
  return `${head.stdout.trim()}${dirty}`;
}
