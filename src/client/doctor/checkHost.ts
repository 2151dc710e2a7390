import { electionFrom, functionMarginMs } from "../../election/settings.ts";
import { messageOf } from "../../model/errors.ts";
import { type HostSettings, packLimitOf, readHostSettings } from "../../model/hostSettings.ts";
import type { Settings } from "../../model/settings.ts";
import { type Finding, findingsOf } from "./finding.ts";

type Env = Readonly<Record<string, string | undefined>>;

const overridePrefix = "AzureFunctionsJobHost__";

/** `host.json` with the overrides of the settings, against what the queues and the lease need of the host. */
export function checkHost(hostJsonText: string, env: Env, settings: Settings): readonly Finding[] {
  const { found, ok, wrong, warning } = findingsOf("host");
  const overrides = Object.keys(env).filter((name) =>
    name.toLowerCase().startsWith(overridePrefix.toLowerCase()),
  );
  let host: HostSettings;
  try {
    host = readHostSettings(hostJsonText, env);
  } catch (error) {
    wrong({
      what: messageOf(error),
      why: "the host itself would refuse it or take a default",
      cure: "correct it in host.json, or in the setting that overrides it",
    });
    return found;
  }
  const { queues } = host;
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
      why: "an instance that found the queue empty looks again only after so long",
      cure: "set it to 00:00:02",
    });
  }
  for (const budget of budgetProblems(settings, host)) wrong(budget);
  if (settings.LEASEFOLD_BUDGET_S * 1_000 > host.functionTimeoutMs - functionMarginMs) {
    const leads = (host.functionTimeoutMs - functionMarginMs) / 1_000;
    warning({
      what: `LEASEFOLD_BUDGET_S is ${settings.LEASEFOLD_BUDGET_S} s and functionTimeout ${host.functionTimeoutMs / 1_000} s`,
      why: `a leader must end before the host kills it, so it leads for ${leads} s`,
      cure: "raise functionTimeout or lower LEASEFOLD_BUDGET_S",
    });
  }
  if (host.functionTimeoutMs === Number.POSITIVE_INFINITY) {
    warning({
      what: "functionTimeout is -1, no limit",
      why: "a function that hangs then hangs until the instance is replaced",
      cure: "set it to 00:10:00, or to twice what one pack may take",
    });
  }
  for (const [name, value] of listenerLocks(hostJsonText, env)) {
    warning({
      what: `${name} is ${value}`,
      why: "it is how long a dead instance's timer stays silent; wakes lead meanwhile, but only while runs are active",
      cure: "leave it out, for the host's own minute",
    });
  }
  if (found.length === 0) {
    ok(
      `functionTimeout ${host.functionTimeoutMs / 1_000} s, packs at once ${queues.batchSize + queues.newBatchThreshold}`,
    );
  }
  if (overrides.length > 0) ok(`host.json is overridden by ${overrides.join(", ")}`);
  return found;
}

function budgetProblems(
  settings: Settings,
  host: HostSettings,
): { what: string; why: string; cure: string }[] {
  const problems: { what: string; why: string; cure: string }[] = [];
  const attempt = (check: () => unknown, why: string, cure: string): void => {
    try {
      check();
    } catch (error) {
      problems.push({ what: messageOf(error), why, cure });
    }
  };
  attempt(
    () => packLimitOf(settings, host),
    "a pack that hits the host's timeout takes the whole instance with it",
    "lower LEASEFOLD_PACK_LIMIT_S or raise functionTimeout in host.json",
  );
  attempt(
    () => electionFrom(settings, host),
    "the lease's times do not fit into one invocation",
    "go back to the defaults of LEASEFOLD_LEASE_S and LEASEFOLD_BUDGET_S",
  );
  return problems;
}

/** Where the host's own lock of the timer is changed: it is not Leasefold's lease, but delays its ticks. */
function listenerLocks(hostJsonText: string, env: Env): [string, string][] {
  const { singleton = {} } = JSON.parse(hostJsonText) as { singleton?: Record<string, unknown> };
  const inFile = Object.entries(singleton)
    .filter(([name]) => /^listenerLock/i.test(name))
    .map(([name, value]): [string, string] => [`singleton.${name}`, String(value)]);
  const inEnv = Object.entries(env)
    .filter(([name]) => /^AzureFunctionsJobHost__singleton__listenerLock/i.test(name))
    .map(([name, value]): [string, string] => [name, String(value)]);
  return [...inFile, ...inEnv];
}
