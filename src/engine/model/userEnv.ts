/**
 * Which variables of a process its user code finds: in threads, in the programs of commands and in `leasefold try` alike, on any
 * machine. A list of secrets to leave out would miss the next one, so this is a list of what passes.
 *
 * Not promised: isolation. The code has the rights of the process, its files, its network and its identity.
 */
type Env = Readonly<Record<string, string | undefined>>;

/** What programs need: paths, and how dates and text read. */
const always = [
  ...["PATH", "HOME", "USERPROFILE", "SystemRoot", "TMPDIR", "TEMP", "TMP", "TZ", "LANG", "LC_ALL"],
  ...["NODE_ENV", "NODE_OPTIONS"],
];

/** The setting that names further variables. It passes itself, since a thread starts the programs of its calculations. */
const setting = "LEASEFOLD_ENV";

/** Whether a variable may be named: what opens storage, or the identity of the app, may not. */
export const mayBeNamed = /^(?!DataStorage|AzureWebJobs|IDENTITY_|MSI_)[a-z_]\w*$/i;
export const mayBeNamedRule =
  "use names of variables, none of which begins with DataStorage, AzureWebJobs, IDENTITY_ or MSI_";

/** The names of a setting that is a list with commas between them. */
export const listed = (text: string): string[] =>
  text.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));

/** What user code finds of an environment; the same again of its own answer. */
export const userEnv = (env: Env): NodeJS.ProcessEnv =>
  Object.fromEntries(
    [...always, setting, ...listed(env[setting] ?? "")]
      .filter((name) => env[name] !== undefined && mayBeNamed.test(name))
      .map((name) => [name, env[name]]),
  );
