import type { Random } from "../storage/ports.ts";

/** Without letters and digits that people mistake for one another when they read an id aloud or copy it. */
const readable = "abcdefghijkmnpqrstuvwxyz23456789";
const plain = "abcdefghijklmnopqrstuvwxyz0123456789";

const draw = (random: Random, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[Math.floor(random.number() * alphabet.length)]).join("");

/** `primes-20261121-7f3k2a`: what it computes, the day it was submitted, and 10^9 possibilities a day. */
export function newRunId(calculation: string, wallMs: number, random: Random): string {
  const day = new Date(wallMs).toISOString().slice(0, 10).replaceAll("-", "");
  return `${calculation.slice(0, 40)}-${day}-${draw(random, readable, 6)}`;
}

/** The tag that keeps a run apart from an older or later one of the same id. */
export const newUid = (random: Random): string => draw(random, plain, 12);
