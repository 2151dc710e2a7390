import { createHmac, hash } from "node:crypto";
import { request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { BlockList, isIPv6 } from "node:net";
import type { EndedRun } from "../../engine/model/endedRun.ts";
import { ConfigError, LeasefoldError } from "../../engine/model/errors.ts";
import type { Settings } from "../../engine/model/settings.ts";
import type { QueueStore } from "../../engine/storage/queuePort.ts";
import type { Teller } from "../../engine/worker/ports.ts";

/**
 * Who hears of ended runs, by the settings: a queue of the data account, and endpoints by Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks). Its library signs by the same few lines; it has no client.
 *
 * Not promised: that an endpoint which is in the same network as a public one is not reached by its public address.
 */
type TellSettings = Pick<
  Settings,
  "LEASEFOLD_ENDED_QUEUE" | "LEASEFOLD_WEBHOOKS" | "LEASEFOLD_WEBHOOK_SECRET" | "LEASEFOLD_WEBHOOK_ALLOW"
>;

/** Absent without any. Throws `ConfigError`, which tells no secret. */
export function tellersOf(
  settings: TellSettings,
  queues: QueueStore,
): ReadonlyMap<string, Teller> | undefined {
  const { LEASEFOLD_ENDED_QUEUE: queue, LEASEFOLD_WEBHOOKS: urls = [] } = settings;
  const secrets = settings.LEASEFOLD_WEBHOOK_SECRET ?? [];
  const allowed = new Set(settings.LEASEFOLD_WEBHOOK_ALLOW);
  if (urls.length > 0 && secrets.length === 0) throw badSetting("LEASEFOLD_WEBHOOK_SECRET", "is missing");
  const tellers = new Map<string, Teller>();
  if (queue !== undefined) tellers.set("queue", ofQueue(queue, queues));
  for (const [index, text] of urls.entries()) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const what = `address ${index + 1}`;
    const isHttp = url?.protocol === "http:" && allowed.has("http");
    if (url === undefined || (url.protocol !== "https:" && !isHttp))
      throw badSetting("LEASEFOLD_WEBHOOKS", `${what} does not begin with https://`);
    if (url.username !== "" || url.password !== "")
      throw badSetting("LEASEFOLD_WEBHOOKS", `${what} has a user or password; sign instead`);
    const teller = {
      name: url.host,
      tell: (word: EndedRun) => post(url, word, secrets, allowed.has("private")),
    };
    tellers.set(`webhook-${hash("sha256", url.href).slice(0, 12)}`, teller);
  }
  return tellers.size > 0 ? tellers : undefined;
}

const badSetting = (name: string, what: string) => new ConfigError("bad-setting", `${name}: ${what}`);

const ofQueue = (queue: string, queues: QueueStore): Teller => ({
  name: queue,
  async tell(word) {
    const send = () => queues.send(queue, JSON.stringify(word));
    await send().catch(async () => {
      // Nobody may have created it.
      await queues.ensureQueue(queue);
      await send();
    });
    return true;
  },
});

/** The headers of Standard Webhooks: `whsec_` and base64 each secret, of which the receiver may know any. */
export function signed(id: string, atS: number, body: string, secrets: readonly string[]) {
  const signatureBy = (secret: string): string => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${atS}.${body}`).digest("base64")}`;
  };
  return {
    "webhook-id": id,
    "webhook-timestamp": String(atS),
    "webhook-signature": secrets.map(signatureBy).join(" "),
  };
}

/** From the first byte sent to the answer's headers. Standard Webhooks recommends 15 to 30 s. */
const answerWithinMs = 15_000;

/**
 * Posts a word and does not read the answer's body. The socket checks the address that it connects to, so a name that leads into
 * a private network, now or the next time, is refused.
 */
function post(url: URL, word: EndedRun, secrets: readonly string[], toPrivate: boolean): Promise<boolean> {
  const body = JSON.stringify(word);
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "user-agent": "leasefold",
    ...signed(word.data.id, Math.floor(Date.now() / 1_000), body, secrets),
  };
  const how = {
    ...{ method: "POST", agent: false, headers, signal: AbortSignal.timeout(answerWithinMs) },
    ...(toPrivate ? {} : { blockList: privateAddresses }),
  };
  return new Promise((resolve, reject) => {
    const asked = (url.protocol === "https:" ? overHttps : overHttp)(url, how, (answer) => {
      const { statusCode: status = 0 } = answer;
      answer.destroy();
      if (status >= 200 && status < 300) resolve(true);
      else if (status === 410) resolve(false);
      else reject(new LeasefoldError("webhook-refused", `it answered ${status}`));
    });
    asked.on("error", (error: NodeJS.ErrnoException) =>
      reject(new LeasefoldError("webhook-failed", whyOf(error))),
    );
    asked.end(body);
  });
}

/** Codes and no messages: these may have the whole address. */
function whyOf({ name, code }: NodeJS.ErrnoException): string {
  if (code === "ERR_IP_BLOCKED") return "its address is private: LEASEFOLD_WEBHOOK_ALLOW=private allows it";
  return name === "AbortError" || name === "TimeoutError"
    ? `no answer in ${answerWithinMs / 1_000} s`
    : (code ?? name);
}

/** What the registries of IANA list as not globally reachable, and what leads to IPv4 by another name. */
const privateAddresses = new BlockList();
const subnets = [
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24",
  "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
  "::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10",
  "fec0::/10 ff00::/8",
];
for (const subnet of subnets.flatMap((line) => line.split(" "))) {
  const [address = "", bits] = subnet.split("/");
  privateAddresses.addSubnet(address, Number(bits), isIPv6(address) ? "ipv6" : "ipv4");
}
