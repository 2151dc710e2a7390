import { Argument, type Command, type Option } from "commander";
import { optionOf } from "../../../engine/model/json.ts";
import { apiOf } from "../apiHere.ts";
import { knownAndRunning } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";

/**
 * `leasefold completion bash`: a script that asks `leasefold complete -- WORD …` for what may stand at the last word. Commands and
 * options are those of the program; names of runs, schedules and calculations are read within a second, and otherwise left out.
 *
 * Not promised: names of more runs than the newest. A shell evaluates no word that was typed.
 */
const scripts = {
  bash: `_leasefold() {
  local IFS=$'\\n'
  COMPREPLY=($(leasefold complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _leasefold leasefold`,
  zsh: `#compdef leasefold
_leasefold() {
  local -a found
  found=(\${(f)"$(leasefold complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _leasefold leasefold`,
  fish: `complete -c leasefold -a '(leasefold complete -- (commandline -opc)[2..] "$(commandline -ct)" 2>/dev/null)'`,
} as const;

/** A shell waits for it at each press of the key. */
const namesMs = 1_000;
const runsShown = 200;

/** What a storage account or this folder has; empty where it cannot be read. */
export interface Names {
  runs(): Promise<readonly string[]>;
  schedules(): Promise<readonly string[]>;
  calculations(): Promise<readonly { readonly name: string; readonly params: readonly { name: string }[] }[]>;
}

export function addCompletion(program: Command, session: Session): void {
  program
    .command("completion")
    .description("print completion for a shell; in bash: source <(leasefold completion bash)")
    .addArgument(new Argument("<shell>", "your shell").choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts) => session.print(scripts[shell]));
  program
    .command("complete", { hidden: true })
    .argument("[words...]", "what was typed; the last one is to be completed")
    .action(async (words: readonly string[]) => {
      const { clock } = session.cli;
      const late = new Promise<[]>((resolve) => clock.after(namesMs, () => resolve([])));
      const within = <T>(read: () => Promise<readonly T[]>) => Promise.race([read().catch(() => []), late]);
      const names: Names = {
        runs: () =>
          within(async () =>
            (await (await apiOf(session)).runs({ limit: runsShown })).runs.map(({ run }) => run),
          ),
        schedules: () =>
          within(async () => (await (await apiOf(session)).schedules.list()).map(({ name }) => name)),
        calculations: () => within(() => knownAndRunning(session)),
      };
      const found = await completions(program, words, names);
      if (found.length > 0) await session.print(found.join("\n"));
    });
}

/** What may stand at the last word, and begins as it does. */
export async function completions(
  program: Command,
  words: readonly string[],
  names: Names,
): Promise<string[]> {
  const typed = words.at(-1) ?? "";
  let command = program;
  const given: string[] = [];
  let option: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (option !== undefined) option = undefined;
    else if (word.startsWith("-")) option = takingNext(command, word);
    else {
      const inner = given.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (inner === undefined) given.push(word);
      command = inner ?? command;
    }
  }
  const found = await candidates(command, { given, option, typed }, names);
  return [...new Set(found)].filter((one) => one.startsWith(typed));
}

async function candidates(
  command: Command,
  at: { readonly given: readonly string[]; readonly option: Option | undefined; readonly typed: string },
  names: Names,
): Promise<readonly string[]> {
  const { given, option, typed } = at;
  if (option?.argChoices !== undefined) return option.argChoices;
  if (option?.long === "--reuse") return names.runs();
  if (option?.long === "--calculation") return (await names.calculations()).map(({ name }) => name);
  if (option !== undefined && !typed.startsWith("-")) return [];
  if (typed.startsWith("-")) return [...optionsOf(command), ...(await parametersOf(command, given, names))];
  if (command.commands.length > 0) {
    if (given.length > 0) return [];
    const help = command.createHelp();
    return help.visibleCommands(command).map((one) => one.name());
  }
  const { registeredArguments } = command;
  const argument = registeredArguments[Math.min(given.length, registeredArguments.length - 1)];
  if (argument === undefined || (given.length >= registeredArguments.length && !argument.variadic)) return [];
  if (argument.argChoices !== undefined) return argument.argChoices;
  if (argument.name() === "run") return names.runs();
  if (argument.name() === "calculation") return (await names.calculations()).map(({ name }) => name);
  return argument.name() === "name" && command.parent?.name() === "schedule" ? names.schedules() : [];
}

/** Of the command and of all that it is part of. */
function optionsOf(command: Command | null): string[] {
  if (command === null) return [];
  const own = command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []);
  return ["--help", ...own, ...optionsOf(command.parent)];
}

/** The parameters of the calculation that was named. */
async function parametersOf({ registeredArguments }: Command, given: readonly string[], names: Names) {
  const place = registeredArguments.findIndex((one) => one.name() === "calculation");
  if (place < 0 || given[place] === undefined) return [];
  const found = (await names.calculations()).find(({ name }) => name === given[place]);
  return (found?.params ?? []).map(({ name }) => optionOf(name));
}

/** The option, if its value is the next word. */
function takingNext(command: Command | null, word: string): Option | undefined {
  if (command === null || word.includes("=")) return undefined;
  const found = command.options.find((one) => one.long === word || one.short === word);
  if (found === undefined) return takingNext(command.parent, word);
  return found.required || found.optional ? found : undefined;
}
