import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { whyNoProxy } from "../../src/azure/connectStorage.ts";

const file = pathToFileURL(join(import.meta.dirname, "../../src/azure/countingClient.ts")).href;
const script = `
  import { countingHttpClient } from ${JSON.stringify(file)};
  const web = (url) => ({ url, method: "GET", headers: { toJson: () => ({}) }, timeout: 0, requestId: "1" });
  const client = countingHttpClient({ count() {} }, () => "read");
  for (const url of process.argv.slice(1)) await client.sendRequest(web(url)).catch(() => {});
`;

test("storage is asked through HTTPS_PROXY, but for the hosts of NO_PROXY", async () => {
  const asked: (string | undefined)[] = [];
  const proxy = createServer();
  proxy.on("connect", ({ url }, socket) => {
    asked.push(url);
    socket.end("HTTP/1.1 502 none\r\n\r\n");
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const env = {
    HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    NO_PROXY: "own.invalid",
  };
  const urls = ["https://abc.blob.core.windows.net/x", "https://own.invalid/x"];
  await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, ...urls], { env });
  proxy.close();
  expect(asked).toEqual(["abc.blob.core.windows.net:443"]);
});

test("a Node that knows no proxy is refused where one is set", () => {
  const [old, now] = [new Set<string>(), new Set(["--use-env-proxy"])];
  expect(whyNoProxy({ https_proxy: "http://proxy" }, old)).toContain("HTTPS_PROXY");
  expect(whyNoProxy({ HTTPS_PROXY: "http://proxy" }, now)).toBeUndefined();
  expect(whyNoProxy({}, old)).toBeUndefined();
});
