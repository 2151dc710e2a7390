import * as z from "zod";
import { count, ms } from "./decode.ts";
import { pairsOf } from "./json.ts";

/** What people say of a run beside its request: tags, and who did what. Neither changes its result or its request's hash. */

const tagsMax = 8;
const keySchema = z.string().regex(/^[A-Za-z][\w.-]{0,31}$/);
const valueSchema = z.string().regex(/^[\w.:@+/-]{1,64}$/);

export const isTagKey = (text: string): boolean => keySchema.safeParse(text).success;

/** What is allowed, for people. */
export const tagRule =
  `at most ${tagsMax} tags; a key is a letter and up to 31 letters, digits, "_", "-" or ".", ` +
  'a value 1 to 64 of these, ":", "@", "+" or "/"';

export const tagsSchema = z
  .record(keySchema, valueSchema)
  .refine((tags) => Object.keys(tags).length <= tagsMax, `at most ${tagsMax} tags`);
export type Tags = Readonly<z.infer<typeof tagsSchema>>;

/** Tags as one types them, `team=risk`; undefined where one is none, or a key comes twice. */
export function parseTags(texts: readonly string[]): Tags | undefined {
  const tags = tagsSchema.safeParse(pairsOf(texts));
  return tags.success && Object.keys(tags.data).length === texts.length ? tags.data : undefined;
}

/** Whether a run has all these tags. */
export const hasTags = (tags: Tags | undefined, wanted: Tags): boolean =>
  Object.entries(wanted).every(
    ([key, value]) => tags !== undefined && Object.hasOwn(tags, key) && tags[key] === value,
  );

/**
 * Who did something, for people: `entra:ada@example.com` (signed in to the app), `azure:ada@example.com` (signed in at a command line),
 * `user:ada` (a user of some machine), `key` (a holder of a function key). It is told and not proven where its writer can write
 * the document itself.
 */
const actorCharactersMax = 160;
export const actorSchema = z.string().min(1).max(actorCharactersMax);
export const callerWithKey = "key";

/** The header by which a holder of a key says for whom it asks, percent-encoded. */
export const userHeader = "leasefold-user";

/** Cut, and without what is no text. */
export function actorOf(kind: "entra" | "azure" | "user", name: string): string {
  const plain = name.replaceAll(/[\p{C}\s]+/gu, " ").trim();
  return `${kind}:${plain}`.slice(0, actorCharactersMax).toWellFormed();
}

/** What people ask of a run. */
export const actionSchema = z.enum(["pause", "resume", "cancel", "finish-early", "cap", "retry"]);
export type Action = z.infer<typeof actionSchema>;

/** Commands as leaders took them up, oldest first. One that another overtook before a leader saw it is missing. */
export const historySchema = z.array(
  z.object({
    command: count,
    action: actionSchema,
    by: actorSchema.optional(),
    atMs: ms,
  }),
);
type History = z.infer<typeof historySchema>;

/** The state has at most so many. */
const actsKept = 32;

/** With one more command; it is told once. */
export function withAct(history: History = [], act: History[number]): History {
  if (history.some(({ command }) => command === act.command)) return history;
  return [...history, act].slice(-actsKept);
}
