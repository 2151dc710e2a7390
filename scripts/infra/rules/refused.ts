import type { Fields, Resource } from "../evaluate/values.ts";
import type { Project } from "../project.ts";
import type { Race, Refusal } from "../refusals/refusal.ts";
import { races, refusals } from "../refusals/refusals.ts";
import { type Finding, findingAt, placeOfText } from "../syntax.ts";

const threadOf = ([first]: Refusal["seen"]): string => `github.com/${first.replace("#", "/issues/")}`;
const told = (says: string, { by, code, seen }: Refusal | Race): string =>
  `${says}; ${by} refuses it: ${code} (${threadOf(seen)})`;

/** What Azure would refuse of the resources that one deployment makes: each row of `refusals` is a rule. */
export function refused(project: Project, all: readonly Resource[], given: Fields): Finding[] {
  const text = (file: string) => project.files.get(file) ?? "";
  const around = { all, given, page: text("docs/DEPLOY.md") };
  return all.flatMap((one) =>
    refusals
      .filter(({ on }) => on === "*" || on === one.type)
      .flatMap((row) =>
        row
          .wrong(one, around)
          .map(([says, about]) =>
            findingAt(placeOfText(one.file, text(one.file), about), row.rule, told(says, row)),
          ),
      ),
  );
}

/** Loops that write to one parent side by side: each row of `races` is a rule. */
export function raced({ templates }: Project): Finding[] {
  return [...templates.values()].flatMap(({ declarations }) =>
    declarations.flatMap(({ target, value, name, place, decorators }) =>
      races
        .filter(({ on }) => target?.split("@")[0] === on && value?.type === "for_statement")
        .filter(() => decorators.get("batchSize")?.[0]?.text !== "1")
        .map((row) => findingAt(place, row.rule, told(`${name} needs @batchSize(1)`, row))),
    ),
  );
}
