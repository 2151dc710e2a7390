import { electionFrom, functionMarginMs } from "../../../src/election/settings.ts";
import { messageOf } from "../../../src/engine/model/errors.ts";
import { type HostSettings, packLimitOf, readHostSettings } from "../../../src/engine/model/hostSettings.ts";
import type { Settings } from "../../../src/engine/model/settings.ts";
import { type Env, type Finding, findingsOf } from "./finding.ts";

/** Checks `host.json`, with the overrides in the environment, against what the queues and the lease need of the host. */
export function checkHost(hostJsonText: string, env: Env, settings: Settings): readonly Finding[] {
  const findings = findingsOf("host");
  const { found, ok, wrong } = findings;
  let host: HostSettings;
  try {
    host = readHostSettings(hostJsonText, env);
  } catch (error) {
    wrong({
      what: messageOf(error),
      why: "the host itself would refuse it or use a default",
      cure: "correct it in host.json, or in the setting that overrides it",
    });
    return found;
  }
  checkQueueSettings(host, findings);
  checkTimes(host, settings, findings);
  for (const [name, value] of listenerLocks(hostJsonText, env)) {
    findings.warning({
      what: `${name} is ${value}`,
      why: "the timer of a dead instance stays silent for so long; meanwhile only wakes lead, if runs are active",
      cure: "remove it, for the host's default of one minute",
    });
  }
  const { queues, functionTimeoutMs } = host;
  const packsAtOnce = queues.batchSize + queues.newBatchThreshold;
  if (found.length === 0) ok(`functionTimeout ${functionTimeoutMs / 1_000} s, packs at once ${packsAtOnce}`);
  const overrides = Object.keys(env).filter((name) => /^AzureFunctionsJobHost__/i.test(name));
  if (overrides.length > 0) ok(`host.json is overridden by ${overrides.join(", ")}`);
  return found;
}

type Findings = ReturnType<typeof findingsOf>;

function checkQueueSettings({ queues }: HostSettings, { wrong, warning }: Findings): void {
  if (queues.messageEncoding !== "none") {
    wrong({
      what: `messageEncoding is ${queues.messageEncoding}`,
      why: "Leasefold's messages are plain JSON; the host would move each to the poison queue unread",
      cure: 'set extensions.queues.messageEncoding to "none" in host.json',
    });
  }
  if (queues.batchSize > 1) {
    warning({
      what: `batchSize is ${queues.batchSize}`,
      why: "the host fetches again only when most of a batch is done, so threads wait for the slowest pack",
      cure: "set batchSize to 1 and newBatchThreshold to the number of packs at once, less one",
    });
  }
  if (queues.maxPollingIntervalMs > 10_000) {
    warning({
      what: `maxPollingInterval is ${queues.maxPollingIntervalMs / 1_000} s`,
      why: "an instance that found the queue empty polls it again only after this time",
      cure: "set it to 00:00:02",
    });
  }
}

function checkTimes(host: HostSettings, settings: Settings, { wrong, warning }: Findings): void {
  const { functionTimeoutMs } = host;
  const wrongIfThrows = (check: () => unknown, advice: { why: string; cure: string }): void => {
    try {
      check();
    } catch (error) {
      wrong({ what: messageOf(error), ...advice });
    }
  };
  wrongIfThrows(() => packLimitOf(settings, host), {
    why: "a pack that hits the host's timeout ends the whole instance",
    cure: "lower LEASEFOLD_PACK_LIMIT_S or raise functionTimeout in host.json",
  });
  wrongIfThrows(() => electionFrom(settings, host), {
    why: "the lease's times do not fit into one invocation",
    cure: "restore the defaults of LEASEFOLD_LEASE_S and LEASEFOLD_BUDGET_S",
  });
  const budgetS = settings.LEASEFOLD_BUDGET_S;
  const longestS = (functionTimeoutMs - functionMarginMs) / 1_000;
  if (budgetS > longestS) {
    warning({
      what: `LEASEFOLD_BUDGET_S is ${budgetS} s and functionTimeout ${functionTimeoutMs / 1_000} s`,
      why: `a leader must end before the host kills it, so it leads for ${longestS} s`,
      cure: "raise functionTimeout or lower LEASEFOLD_BUDGET_S",
    });
  }
  if (functionTimeoutMs === Number.POSITIVE_INFINITY) {
    warning({
      what: "functionTimeout is -1, no limit",
      why: "a function that hangs then hangs until the instance is replaced",
      cure: "set it to 00:10:00, or to twice the time of the longest pack",
    });
  }
}

/** Changed settings of the host's own lock of the timer. It is not Leasefold's lease, but delays its ticks. */
function listenerLocks(hostJsonText: string, env: Env): [string, unknown][] {
  const { singleton = {} } = JSON.parse(hostJsonText) as { singleton?: Record<string, unknown> };
  const inFile = Object.entries(singleton).map(([name, value]): [string, unknown] => [
    `singleton.${name}`,
    value,
  ]);
  const lock = /^(AzureFunctionsJobHost__singleton__|singleton\.)listenerLock/i;
  return [...inFile, ...Object.entries(env)].filter(([name]) => lock.test(name));
}
