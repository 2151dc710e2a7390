import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { context } from "esbuild";
import { pageBuild } from "./pageBuild.mjs";

/**
 * `npm run dev`: the dashboard from its sources, built anew and loaded again after each change. Its data come from the fixture
 * of the tests, or from the dashboard at `LEASEFOLD_DASHBOARD`, as `leasefold show dashboard` prints it. That has a key, so it
 * is no argument, which every user of this machine could read.
 *
 * Not promised: the security headers of the app; the browser tests have those.
 */
const root = join(import.meta.dirname, "..");
const { origin, hash } = new URL(process.env.LEASEFOLD_DASHBOARD || (await fixtureAddress()));

const built = await context({
  ...pageBuild,
  absWorkingDir: root,
  outdir: join(root, "dist", "ui"),
  write: false,
  sourcemap: "inline",
  logLevel: "info",
  banner: { js: 'new EventSource("/esbuild").addEventListener("change", () => location.reload());' },
});
await built.watch();
const { port } = await built.serve({ host: "127.0.0.1", port: 0, servedir: join(root, "dist", "ui") });

const server = createServer(async (incoming, answer) => {
  const { pathname } = new URL(incoming.url, origin);
  if (pathname === "/api/ui") {
    const page = await readFile(join(root, "packages/dashboard/index.html"));
    return answer.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
  }
  if (pathname === "/esbuild") return pass(incoming, answer, `http://127.0.0.1:${port}`, pathname);
  const file = /^\/api\/ui\/(app\.(?:js|css))$/.exec(pathname)?.[1];
  if (file !== undefined) return pass(incoming, answer, `http://127.0.0.1:${port}`, `/${file}`);
  pass(incoming, answer, origin, incoming.url);
});
server.listen(0, "127.0.0.1", () =>
  console.log(`dashboard: http://127.0.0.1:${server.address().port}/api/ui${hash} (Ctrl-C ends it)`),
);

function pass(incoming, answer, to, path) {
  // The app refuses requests of other pages: to it this is a program, which names no origin.
  const { host: _host, origin: _origin, referer: _referer, ...headers } = incoming.headers;
  const own = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("sec-fetch-")));
  const passed = request(new URL(path, to), { method: incoming.method, headers: own }, (reply) => {
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  passed.on("error", (error) => answer.writeHead(502).end(`${to} does not answer: ${error.message}`));
  answer.on("close", () => passed.destroy());
  incoming.pipe(passed);
}

async function fixtureAddress() {
  const { startFixture } = await import("../packages/dashboard/test/browser/fixture/fixtureServer.ts");
  const { url, key } = await startFixture();
  return `${url}/api/ui#token=${key}`;
}
