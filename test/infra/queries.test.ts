import { describe, expect, test } from "vitest";
import { logEvents } from "../../src/engine/model/log.ts";
import type { Row } from "./kql/expressions.ts";
import { asked, categories, elected, hostSaid, said, thrown } from "./kql/rows.ts";

const run = { run: "r1", uid: "u1" };
const traces = (...rows: Row[]) => ({ AppTraces: rows });
const exceptions = (...rows: Row[]) => ({ AppExceptions: rows });
const leading = (minutes: number, runs: number, more: Row = {}) =>
  said(minutes, logEvents.leading({ term: 3, runs, polls: 30 }), more);
const raced = (minutes: number, outcome: string, more: object = {}) =>
  said(minutes, logEvents.raceEnded({ outcome, ms: 5, ...more }));

describe("no-leader", () => {
  test("tells a run that is open while nobody has led for eight minutes", () => {
    const silent = asked("no-leader", traces(leading(9, 1)));
    expect(silent).toMatchObject([{ what: "runs are open and nobody leads" }]);
    expect(asked("no-leader", traces(leading(7, 1)))).toEqual([]);
    expect(asked("no-leader", traces(leading(20, 1), leading(15, 0)))).toEqual([]);
  });
  test("tells a run submitted over HTTP that no leader has seen", () => {
    const rows = [leading(60, 0), said(20, logEvents.runSubmitted({ ...run, ms: 20 }))];
    expect(asked("no-leader", traces(...rows))).toMatchObject([{ what: "runs are open and nobody leads" }]);
    expect(asked("no-leader", traces(...rows, leading(1, 1)))).toEqual([]);
  });
  test("tells races that fail again and again, with their cause", () => {
    const failed = [12, 10, 8, 6, 5].map((at) => raced(at, "unreachable", { cause: "view: 403" }));
    expect(asked("no-leader", traces(leading(60, 0), ...failed))).toMatchObject([
      { what: "nobody can lead", cause: "view: 403" },
    ]);
    expect(asked("no-leader", traces(leading(60, 0), ...failed, raced(4, "led", { term: 4 })))).toEqual([]);
  });
});

describe("no-tick", () => {
  const wake = { OperationName: "wake" };
  test("tells an app whose timer is silent while wakes carry its runs", () => {
    expect(asked("no-tick", traces(raced(11, "led"), leading(1, 1, wake)))).toMatchObject([
      { AppRoleName: "app-ne" },
    ]);
  });
  test("is silent while a tick leads, while no run is open, and for an app that ticks", () => {
    expect(asked("no-tick", traces(raced(30, "led"), leading(1, 1)))).toEqual([]);
    expect(asked("no-tick", traces(raced(30, "led"), leading(1, 0, wake)))).toEqual([]);
    expect(asked("no-tick", traces(raced(9, "follower"), leading(1, 1, wake)))).toEqual([]);
  });
  test("tells the app of one region while the other ticks and leads", () => {
    const other = { AppRoleName: "app-sc" };
    const rows = [
      leading(1, 1, other),
      raced(1, "follower"),
      said(20, logEvents.raceEnded({ outcome: "follower", ms: 1 })),
    ];
    expect(asked("no-tick", traces(...rows))).toEqual([]);
    expect(asked("no-tick", traces(leading(1, 1, other), raced(20, "follower")))).toMatchObject([
      { AppRoleName: "app-ne" },
    ]);
  });
});

test("two-holders tells a term that two claimed", () => {
  const claim = (holder: string, termid: string) => elected(5, "claimed", { term: 7, termid, holder });
  expect(asked("two-holders", traces(claim("a", "x"), claim("b", "y")))).toMatchObject([{ term: 7 }]);
  expect(asked("two-holders", traces(claim("a", "x"), claim("a", "x")))).toEqual([]);
});

test("poison and old-messages tell what workers say of messages", () => {
  const set = said(5, logEvents.poisonRecorded({ queue: "q-poison", run: "r1", outcome: "recorded" }));
  expect(asked("poison", traces(set, leading(1, 1)))).toMatchObject([
    { messages: 1, queue: "q-poison", run: "r1" },
  ]);
  const late = (waitedS: number) => said(5, logEvents.messageWaited({ queue: "q", waitedS }));
  expect(asked("old-messages", traces(late(400), late(900)))).toMatchObject([{ messages: 2, longestS: 900 }]);
  expect(asked("old-messages", traces(leading(1, 1)))).toEqual([]);
});

test("run-failed tells what a failed run was for and what it cost, and no other end", () => {
  const ended = (phase: string) =>
    said(
      5,
      logEvents.runEnded({
        ...{ ...run, phase, ms: 9, packs: 3, resends: 0, calculation: "sql", tags: "team=risk" },
        ...{ by: "user:ada", dollars: 0.03, error: phase === "failed" ? "chunk 7: no" : undefined },
      }),
    );
  expect(asked("run-failed", traces(ended("failed"), ended("complete"), ended("cancelled")))).toMatchObject([
    { run: "r1", calculation: "sql", tags: "team=risk", by: "user:ada", dollars: 0.03, error: "chunk 7: no" },
  ]);
});

test("schedule-skipped tells due times without a run, and schedules that stopped", () => {
  const due = "2026-11-23T01:00:00.000Z";
  const skipped = (why: string) => said(5, logEvents.scheduleSkipped({ schedule: "nightly", due, why }));
  const stopped = said(3, logEvents.scheduleStopped({ schedule: "hourly", message: "it does not decode" }));
  const submitted = said(2, logEvents.scheduleSubmitted({ schedule: "nightly", run: "n", lateS: 1 }));
  expect(
    asked("schedule-skipped", traces(skipped("missed"), skipped("missed"), stopped, submitted)),
  ).toMatchObject([
    { event: "schedule-skipped", schedule: "nightly", why: "missed", skipped: 2 },
    { event: "schedule-stopped", schedule: "hourly", message: "it does not decode" },
  ]);
  expect(asked("schedule-skipped", traces(submitted))).toEqual([]);
});

describe("stalled-run", () => {
  const sealed = (minutes: number, term: number, packsDone: number, paused = false) =>
    said(minutes, logEvents.runTakenOver({ ...run, term, phase: "computing", packsDone, paused }));
  test.each([5, 30, 60, 240])("tells a run that two terms of %i minutes found as it was", (term) => {
    const times = term < 20 ? [25, 20, 15, 10, 5, 1] : [term + 2, 2];
    const rows = times.map((at, i) => sealed(at, i + 1, 7));
    expect(asked("stalled-run", traces(...rows))).toMatchObject([{ run: "r1", packsDone: 7 }]);
  });
  test("is silent for progress, a pause, an end and one long term", () => {
    expect(asked("stalled-run", traces(sealed(62, 1, 7), sealed(2, 2, 8)))).toEqual([]);
    expect(asked("stalled-run", traces(sealed(62, 1, 7), sealed(2, 2, 7, true)))).toEqual([]);
    expect(asked("stalled-run", traces(sealed(62, 1, 7)))).toEqual([]);
    const ended = said(1, logEvents.runEnded({ ...run, phase: "complete", ms: 1, packs: 9, resends: 0 }));
    expect(asked("stalled-run", traces(sealed(62, 1, 7), sealed(2, 2, 7), ended))).toEqual([]);
  });
});

describe("storage-denied", () => {
  // As the host wraps it (Azure/azure-functions-host issues 8079 and 9652).
  const inner =
    "This request is not authorized to perform this operation using this permission.\n" +
    "RequestId:313e9365\nStatus: 403 (This request is not authorized)\nErrorCode: AuthorizationPermissionMismatch\n";
  test("reads the code of storage in the innermost message", () => {
    const outer = "The listener for function 'Functions.worker' was unable to start.";
    const row = thrown(
      5,
      categories.startup,
      "Microsoft.Azure.WebJobs.Host.Listeners.FunctionListenerException",
      outer,
      inner,
    );
    expect(asked("storage-denied", exceptions(row))).toMatchObject([{ times: 1, said: inner.slice(0, 200) }]);
    expect(
      asked("storage-denied", exceptions(thrown(5, categories.startup, "System.Exception", outer))),
    ).toEqual([]);
  });
  test("reads lines of the app and logs of storage", () => {
    const failed = logEvents.leadingFailed("error", { term: 1, code: "AuthorizationFailure", message: "no" });
    expect(asked("storage-denied", traces(said(5, failed)))).toHaveLength(1);
    const log = { TimeGenerated: 0, StatusCode: "403", OperationName: "PutBlob", Uri: "https://x" };
    expect(asked("storage-denied", { StorageBlobLogs: [log], StorageQueueLogs: [] })).toMatchObject([
      { said: "PutBlob https://x" },
    ]);
    expect(asked("storage-denied", { StorageBlobLogs: [{ ...log, StatusCode: "404" }] })).toEqual([]);
  });
});

describe("host-errors", () => {
  // Azure/azure-functions-host, WorkerProcess.cs and RpcWorkerProcess.cs; the form of 143 is that of issue 12007.
  const type = "Microsoft.Azure.WebJobs.Script.Workers.WorkerProcessExitException";
  test.each([134, 137])("tells a process that ended with code %i, as by lack of memory", (code) => {
    const row = thrown(
      5,
      categories.process,
      type,
      `node exited with code ${code} (0x${code.toString(16)})\n `,
    );
    expect(asked("host-errors", exceptions(row))).toMatchObject([{ AppRoleName: "app-ne", times: 1 }]);
    const line = hostSaid(5, categories.process, `node exited with code ${code}`);
    expect(asked("host-errors", traces(line))).toHaveLength(1);
  });
  test("leaves out the end that the platform gives an instance it takes away", () => {
    const row = thrown(5, categories.process, type, "node exited with code 143 (0x8F)\n ");
    expect(asked("host-errors", exceptions(row))).toEqual([]);
    const line = hostSaid(5, categories.process, "node exited with code 143 (0x8F)");
    expect(asked("host-errors", traces(line))).toEqual([]);
  });
  test("tells what the host and the app could not do", () => {
    const unexpected = said(5, logEvents.unexpected({ where: "tick", message: "no disk" }));
    const start = hostSaid(5, "Function.coordinator.User", "Leasefold cannot start: LEASEFOLD_LEASE_S=5");
    const collision = hostSaid(5, categories.hostId, "A collision for Host ID 'x' was detected");
    expect(asked("host-errors", traces(unexpected, start, collision))).toHaveLength(3);
  });
  test("tells a host that ends, by its line and by its exception", () => {
    const ends = "An unhandled exception has occurred. Host is shutting down.";
    const line = hostSaid(5, categories.unhandled, ends);
    expect(asked("host-errors", traces(line))).toMatchObject([{ said: ends, times: 1 }]);
    const row = thrown(
      5,
      categories.unhandled,
      "System.TimeoutException",
      ends,
      "Singleton lock renewal failed",
    );
    expect(asked("host-errors", exceptions(row))).toHaveLength(1);
  });
  test("tells no invocation that failed, under whatever category the host logs it", () => {
    const failed = "Exception while executing function: Functions.worker";
    const rows = categories.failedInvocation.map((category) =>
      thrown(5, category, "Microsoft.Azure.WebJobs.Host.FunctionInvocationException", failed),
    );
    const lines = categories.failedInvocation.map((category) => hostSaid(5, category, "Executed (Failed)"));
    expect(asked("host-errors", { AppExceptions: rows, AppTraces: lines })).toEqual([]);
  });
});

test("log-cap tells a day of logs beyond seven tenths of the cap", () => {
  const day = (mb: number) => ({
    Usage: [
      { TimeGenerated: 0, Quantity: mb / 2, IsBillable: true },
      { TimeGenerated: 1, Quantity: mb / 2, IsBillable: true },
      { TimeGenerated: 2, Quantity: 9e9, IsBillable: false },
    ],
  });
  expect(asked("log-cap", day(710))).toMatchObject([{ takenGb: 0.71, capGb: 1 }]);
  expect(asked("log-cap", day(690))).toEqual([]);
});

test("log-cap still tells at the cap, where only the workspace's own log goes on", () => {
  const operation = (Category: string, Detail: string) => ({
    _LogOperation: [{ TimeGenerated: 0, Category, Operation: "Data collection Status", Detail }],
  });
  const over = "The data volume quota was reached. OverQuota. Data collection has been stopped.";
  expect(asked("log-cap", operation("ingestion", over))).toMatchObject([{ said: "the cap is reached" }]);
  expect(asked("log-cap", operation("Ingestion", "ApproachingQuota"))).toEqual([]);
  expect(asked("log-cap", operation("Agent", over))).toEqual([]);
});

test("the workbook shows runs and terms", () => {
  const phases = said(9, logEvents.runPhase({ ...run, from: "planning", to: "computing", term: 1 }));
  const ended = said(1, logEvents.runEnded({ ...run, phase: "complete", ms: 8_000, packs: 9, resends: 1 }));
  expect(asked("runs", traces(phases, ended))).toMatchObject([
    { run: "r1", phase: "complete", ended: true, seconds: 8 },
  ]);
  const rows = [
    elected(9, "claimed", { term: 2, holder: "a", cause: "expired" }),
    elected(4, "released", { term: 2, holder: "a", cause: "budget" }),
  ];
  expect(asked("leaders", traces(...rows))).toMatchObject([
    { term: 2, came: "expired", went: "budget", led: 300_000 },
  ]);
});
