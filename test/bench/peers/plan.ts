import { messageOf } from "../../../src/engine/model/errors.ts";
import { quantile } from "../quantile.ts";
import type { Work } from "./work.ts";

/** What a peer needs that is not the project's own: a program, a package of npm, or modules of Python. */
export type Need =
  | { readonly program: string }
  | { readonly npm: string }
  | { readonly python: readonly string[] };

/** A cell of computing: the same work through each peer, in tasks of so many chunks. */
export interface WorkCell {
  readonly name: string;
  readonly about: string;
  readonly work: Work;
  readonly taskChunks: number;
  /** Leasefold's packs; without them it chooses. */
  readonly packSize?: number;
}

export const workers = ["Leasefold", "Piscina", "BullMQ", "Celery", "Dask"] as const;
export type WorkerName = (typeof workers)[number];

/** Who leads, and what a death costs; `ttlS` is how long a lock lives without its holder. */
export interface LockCell {
  readonly name: string;
  readonly kind: "leasefold" | "plain" | "etcd" | "redlock";
  readonly about: string;
  readonly ttlS: number;
  readonly kills: number;
  /** Of Leasefold alone. */
  readonly early?: "true" | "fast";
}

const redis: Need = { program: "redis-server" };
export const workerNeeds: Readonly<Record<WorkerName, readonly Need[]>> = {
  Leasefold: [],
  Piscina: [],
  BullMQ: [redis, { npm: "bullmq" }],
  Celery: [redis, { python: ["celery", "redis"] }],
  Dask: [{ python: ["distributed"] }],
};
export const lockNeeds: Readonly<Record<LockCell["kind"], readonly Need[]>> = {
  leasefold: [],
  plain: [],
  etcd: [{ program: "etcd" }, { npm: "etcd3" }],
  redlock: [redis, { npm: "redlock" }, { npm: "ioredis" }],
};

/** Why a peer is skipped, in a word for each need that is not there; undefined where all are. */
export function skipWord(needs: readonly Need[], has: (need: Need) => boolean): string | undefined {
  const missing = needs.filter((need) => !has(need)).map(nameOf);
  return missing.length === 0 ? undefined : `skipped: no ${missing.join(", no ")}`;
}

/** Why a peer has no figures that is there. */
export const failed = (error: unknown): string => `failed: ${messageOf(error)}`;

function nameOf(need: Need): string {
  if ("program" in need) return need.program;
  return "npm" in need ? `npm package ${need.npm}` : `Python with ${need.python.join(" and ")}`;
}

interface Size {
  readonly full: boolean;
  readonly quick: boolean;
}

export function workCells({ full, quick }: Size): readonly WorkCell[] {
  const [single, many, to] = quick ? [200, 20_000, 1e9] : full ? [10_000, 1e6, 1e11] : [2_000, 100_000, 3e10];
  const shown = (value: number): string => value.toLocaleString("en");
  return [
    {
      name: "chunks",
      about: `${shown(single)} trivial chunks, each a task of its own; Leasefold packs them itself`,
      work: { kind: "chain", chunks: single },
      taskChunks: 1,
    },
    {
      name: "packs",
      about: `${shown(many)} trivial chunks in tasks of 1,000`,
      work: { kind: "chain", chunks: many },
      ...{ taskChunks: 1_000, packSize: 1_000 },
    },
    {
      name: "sieve",
      about: `primes to ${to.toExponential().replace("+", "")} in tasks of 1/64; Leasefold packs them itself`,
      work: { kind: "sieve", to },
      taskChunks: 0,
    },
  ];
}

export function lockCells({ full, quick }: Size): readonly LockCell[] {
  const [slow, swift] = quick ? [1, 2] : full ? [20, 40] : [4, 8];
  return [
    { name: "Leasefold", kind: "leasefold", about: "watching", ttlS: 15, kills: swift, early: "true" },
    {
      ...{ name: "Leasefold, fast", kind: "leasefold", about: "watching" },
      ...{ ttlS: 15, kills: swift, early: "fast" },
    },
    {
      name: "blob lease alone",
      kind: "plain",
      about: "renewed each 5 s, others try twice a second",
      ttlS: 15,
      kills: slow,
    },
    { name: "etcd, 15 s", kind: "etcd", about: "an election of three on one server", ttlS: 15, kills: slow },
    { name: "etcd, 3 s", kind: "etcd", about: "an election of three on one server", ttlS: 3, kills: swift },
    {
      name: "Redlock, 15 s",
      kind: "redlock",
      about: "of three servers, others try twice a second",
      ttlS: 15,
      kills: slow,
    },
    {
      name: "Redlock, 3 s",
      kind: "redlock",
      about: "of three servers, others try twice a second",
      ttlS: 3,
      kills: swift,
    },
  ];
}

/** Seconds of each peer in turn, or the word why there are none. */
export interface Measured {
  readonly name: string;
  readonly seconds: readonly number[] | string;
}

/** One row for each peer: its median over that of the first, which is Leasefold's. Throws where that one has none. */
export function ratioRows(cell: string, measured: readonly Measured[]) {
  const figures: Record<string, number> = {};
  const median = (seconds: readonly number[]): number => quantile(seconds, 0.5);
  const first = measured[0]?.seconds;
  if (typeof first !== "object") throw new Error(`${cell}: there is nothing to compare with, ${first}`);
  const base = median(first);
  const rows = measured.map(({ name, seconds }): Record<string, string | number> => {
    const who = { cell, who: name };
    if (typeof seconds === "string") return { ...who, "over Leasefold": seconds };
    const slug = `${cell} ${name}`.toLowerCase().replaceAll(/[ ,]+/g, "-");
    const ratio = Number((median(seconds) / base).toPrecision(2));
    figures[`${slug}-ratio`] = ratio;
    return {
      ...{ ...who, "over Leasefold": ratio, n: seconds.length },
      ...{ "median s": median(seconds), "most s": quantile(seconds, 1) },
    };
  });
  return { rows, figures };
}
