import type { Client } from "../../../src/engine/client/client.ts";
import { command } from "../../../src/engine/client/commands/command.ts";
import type { Change } from "../../../src/engine/client/commands/decideCommand.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { LeasefoldError } from "../../../src/engine/model/errors.ts";
import { isFinal } from "../../../src/engine/model/state.ts";
import { requestOf, type SubmitRequest } from "../../support/engineWorld.ts";
import { isAtMaxCost } from "./checks/leftovers.ts";
import type { Company } from "./mishaps.ts";

/** People who submit some runs and do with them whatever comes to their mind. */
export interface Users {
  /** One of them does something, while time goes on. */
  act(): void;
  /** Until everyone has what they asked for last; a submit that broke off is made again. */
  settle(): Promise<void>;
  /** Whatever has failed, has gaps or was cancelled is asked for again. */
  retryAll(): Promise<void>;
  resumeAll(): Promise<void>;
  /** Whatever was accepted has come about. */
  check(): void;
}

interface Accepted {
  readonly id: string;
  readonly uid: string;
  readonly change: Change;
  readonly generation: number;
}

/**
 * `changing`: whoever retries has the code of now, and submits a run that takes what other code has computed. `awaited`: whoever
 * submits then waits for the run by a request to some instance.
 */
export function users(
  company: Company,
  requests: readonly SubmitRequest[],
  { changing, awaited }: { readonly changing: boolean; readonly awaited: boolean },
): Users {
  const { play, weather } = company;
  const { world, judge } = play;
  const { random } = world;
  const { ledger } = judge;
  const accepted: Accepted[] = [];
  const submitted: { readonly id: string; readonly uid: string }[] = [];
  const underWay = new Set<Promise<void>>();
  /** Deleted by the last word of its user. */
  const gone = new Set<string>();

  /** Each call of a person is a process of its own, and any of them may die in the middle. */
  const going = (act: (client: Client) => Promise<unknown>): void => {
    const { client, death } = play.user({ weather });
    const end = Promise.race([act(client), death]).then(
      () => {},
      (error: unknown) => {
        if (error instanceof LeasefoldError) return;
        judge.report("nothing unexpected", `a user met ${String(error)}`);
      },
    );
    underWay.add(end);
    void end.then(() => underWay.delete(end));
  };
  const ask = (request: SubmitRequest): void => {
    gone.delete(request.id);
    going(async (client) => {
      const { uid } = await submit(client, { ...requestOf(request), keepPartials: changing });
      submitted.push({ id: request.id, uid });
      if (!awaited) return;
      const there = play.engine.instances.filter((one) => !one.isDead());
      void there[Math.floor(random.number() * there.length)]?.waitFor(request.id, random.number() * 20_000);
    });
  };
  const tell = (id: string, change: Change): void =>
    going(async (client) => {
      const { uid, generation } = await command(client, id, change);
      accepted.push({ id, uid, change, generation });
      if (change.kind === "delete") gone.add(id);
    });
  const retry = (): Change => ({ kind: "retry", ...(changing && { code: company.code }) });
  /** A run of its own, by the code of now, takes what is there of this one by whatever code. */
  const takeOver = (request: SubmitRequest): void =>
    going(async (client) => {
      const calculations = { ...client.calculations, versionOf: () => company.code };
      const id = `${request.id}-again`;
      const asked = requestOf({ ...request, id, reuse: request.id, acceptCode: true });
      const { uid } = await submit({ ...client, calculations }, asked);
      submitted.push({ id, uid });
    });
  const draw = (): SubmitRequest => requests[Math.floor(random.number() * requests.length)] as SubmitRequest;

  for (const request of requests) ask(request);

  return {
    act() {
      const request = draw();
      const kind = random.number();
      if (kind < 0.2) tell(request.id, { kind: "pause" });
      else if (kind < 0.4) tell(request.id, { kind: "resume" });
      else if (kind < 0.5) tell(request.id, { kind: "cancel", keep: kind < 0.45 });
      else if (kind < 0.65) {
        const cap = 1 + Math.floor(random.number() * 20);
        const { maxCost } = request;
        tell(request.id, { kind: "cap", cap, maxCost: maxCost && (cap * maxCost) / 4 });
      } else if (kind < 0.78) {
        tell(request.id, retry());
        if (changing) takeOver(request);
      } else if (kind < 0.88) tell(request.id, { kind: "delete" });
      else ask(request);
    },
    async settle() {
      for (let round = 0; round < 20; round += 1) {
        await world.finish(Promise.all(underWay));
        const missing = requests.filter(({ id }) => !gone.has(id) && !isAccepted(id));
        if (missing.length === 0) return;
        for (const request of missing) ask(request);
        await world.advance(5_000);
      }
    },
    async retryAll() {
      await world.until(() => requests.every(({ id }) => !isWorking(id)), 3_600_000);
      for (const { id } of requests) if (!gone.has(id)) tell(id, retry());
      if (changing) for (const request of requests) takeOver(request);
      await world.finish(Promise.all(underWay));
    },
    async resumeAll() {
      for (const { id } of requests) if (!gone.has(id)) tell(id, { kind: "resume" });
      await world.finish(Promise.all(underWay));
    },
    check() {
      for (const { id, uid } of submitted) {
        const { state, deleteAskedMs, lostByHand } = ledger.record(id, uid);
        if (state !== undefined || deleteAskedMs !== undefined || lostByHand === true) continue;
        judge.report("every run ends", `${id} (${uid}) was accepted, and nobody began it`);
      }
      for (const { id, uid, change, generation } of accepted) {
        const { state, specThere, deleteAskedMs, lostByHand } = ledger.record(id, uid);
        if (change.kind === "delete" && specThere) {
          judge.report(
            "commands are answered",
            `the deletion of ${id} (${uid}) was accepted, and it is there`,
          );
        }
        // What an operator deleted may have been the command.
        if (deleteAskedMs !== undefined || lostByHand === true) continue;
        if (change.kind === "retry" && (state?.generation ?? 0) < generation) {
          judge.report(
            "commands are answered",
            `generation ${generation} of ${id} was accepted and never began`,
          );
        }
      }
    },
  };

  function isAccepted(id: string): boolean {
    const run = ledger.current(id, "spec");
    if (run?.marker !== undefined) return true;
    // Where an operator deleted the marker, whoever misses the run submits it again.
    return run?.state !== undefined && (run.lostByHand !== true || isFinal(run.state.phase));
  }
  function isWorking(id: string): boolean {
    const marker = ledger.current(id, "marker")?.marker;
    const run = ledger.current(id, "marker");
    return marker !== undefined && marker.want !== "paused" && !(run && isAtMaxCost(run));
  }
}
