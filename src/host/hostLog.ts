import type { LogLevel, Report } from "./instanceMessages.ts";

/** The log lines of the embedded host itself: one function for each event. */
export type HostLog = ReturnType<typeof makeHostLog>;

export function makeHostLog(report: Report) {
  const say = (level: LogLevel, message: string) => report({ kind: "log", level, message });
  return {
    httpFailed: (functionName: string, reason: string) =>
      say("error", `${functionName}: the response could not be sent: ${reason}`),
    storageFailing: (queue: string, reason: string) =>
      say("warning", `${queue} cannot be read, trying again: ${reason}`),
    storageBack: (queue: string) => say("information", `${queue} can be read again`),
    poisoned: (queue: string, poison: string, id: string, deliveries: number) =>
      say("warning", `${queue}: message ${id} goes to ${poison} after ${deliveries} deliveries`),
    leftHidden: (queue: string, id: string, deliveries: number) =>
      say("warning", `${queue}: message ${id} stays hidden after ${deliveries} deliveries`),
    completedTooLate: (queue: string, id: string) =>
      say("warning", `${queue}: message ${id} was done, but is no longer ours to delete; it will run again`),
    notRenewed: (queue: string, id: string, reason: string) =>
      say("warning", `${queue}: message ${id} could not be kept hidden: ${reason}`),
    deliveryNotEnded: (queue: string, id: string, reason: string) =>
      say("warning", `${queue}: message ${id} comes back, its delivery could not be ended: ${reason}`),
    stopping: () => say("information", "The instance is stopping"),
    notDrained: (running: number, graceMs: number) =>
      say("warning", `${running} invocations still ran after ${graceMs} ms and are cut off`),
  };
}
