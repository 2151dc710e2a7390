import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Finding, RuleName } from "./syntax.ts";

/**
 * Build, lint and format by the real Bicep CLI; undefined where it is not on the path. It knows types and expressions far
 * better than the check here, which knows this project.
 */
export function bicepCli(templates: readonly string[], entries: readonly string[]): Finding[] | undefined {
  const bicep = (...args: string[]) => spawnSync("bicep", args, { encoding: "utf8" });
  if (bicep("--version").error !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "leasefold-bicep-"));
  try {
    const told = entries.flatMap((file) => [
      ...findingsIn(bicep("build", file, "--outdir", folder).stderr, "bicep-build"),
      ...findingsIn(bicep("lint", file).stderr, "bicep-lint"),
    ]);
    const formatted = templates.flatMap((file): Finding[] => {
      const out = join(folder, "formatted.bicep");
      const { status } = bicep("format", file, "--outfile", out);
      if (status === 0 && readFileSync(out, "utf8") === readFileSync(file, "utf8")) return [];
      return [{ file, line: 1, column: 1, rule: "bicep-format", message: "run: bicep format" }];
    });
    const unique = new Map([...told, ...formatted].map((one) => [JSON.stringify(one), one] as const));
    return [...unique.values()];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const told: ReadonlySet<RuleName> = new Set<RuleName>(["bicep-format", "bicep-warning"]);

/**
 * Whether a finding fails the check. The layout and warnings are told only: what a compiler only warns of it compiles, and
 * none has seen these templates.
 */
export const fails = ({ rule }: Finding): boolean => !told.has(rule);

/** `path(12,3) : Error BCP018: Expected …` is of that rule, and a warning of a rule of its own. */
export function findingsIn(text: string, rule: RuleName): Finding[] {
  return [...text.matchAll(/^(.+?)\((\d+),(\d+)\) : (Error|Warning|Info) ([\w-]+): (.*)$/gm)].flatMap(
    (match) => {
      const [, file = "", line, column, level, code, message] = match;
      // The published types of 2024-11-01 lack siteUpdateStrategy, which the platform takes (infra/schemas.extra.json).
      if (code === "BCP037" && message?.includes("siteUpdateStrategy")) return [];
      if (level === "Info") return [];
      const place = { file, line: Number(line), column: Number(column) };
      return [{ ...place, rule: level === "Error" ? rule : "bicep-warning", message: `${code} ${message}` }];
    },
  );
}
