export type Env = Readonly<Record<string, string | undefined>>;

/** One result of a check. `wrong` keeps the app from working or from being safe; `skipped` could not be checked. */
export interface Finding {
  /** Name of the check, such as `settings` or `roles`. */
  readonly check: string;
  readonly state: "ok" | "warning" | "wrong" | "skipped";
  readonly what: string;
  /** Why it matters; absent for `ok` and `skipped`. */
  readonly why?: string;
  readonly cure?: string;
}

export type Problem = Required<Pick<Finding, "what" | "why" | "cure">>;

/** Collects the findings of one check. */
export function findingsOf(check: string) {
  const found: Finding[] = [];
  return {
    found,
    ok: (what: string): void => void found.push({ check, state: "ok", what }),
    skipped: (what: string): void => void found.push({ check, state: "skipped", what }),
    warning: (problem: Problem): void => void found.push({ check, state: "warning", ...problem }),
    wrong: (problem: Problem): void => void found.push({ check, state: "wrong", ...problem }),
  };
}
