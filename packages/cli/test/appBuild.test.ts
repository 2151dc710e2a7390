import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

/** `build.mjs` of an app that `leasefold init` writes, over packages as npm installs them. */
const program = join(import.meta.dirname, "../starter/app/build.mjs");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "leasefold-app-build-"));
  write("host.json", "{}");
  write("src/index.ts", 'import "./part.ts";');
  write("src/part.ts", "");
  cpSync(program, join(folder, "build.mjs"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
function install(at: string, about: object = {}): void {
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(at) ?? [];
  write(join(at, "package.json"), JSON.stringify({ name, version: "1.0.0", ...about }));
}
function app(dependencies: Record<string, string>, more: object = {}): void {
  write("package.json", JSON.stringify({ name: "nightly", dependencies, ...more }));
}
function build() {
  const { status, stderr } = spawnSync(process.execPath, ["build.mjs"], { cwd: folder, encoding: "utf8" });
  return { status, why: /Error: (.*)/.exec(stderr)?.[1] ?? stderr };
}
const has = (path: string): boolean => existsSync(join(folder, "dist", path));

const forLinux = { os: ["linux"], cpu: ["x64"], libc: ["glibc"] };
const [elf, machO] = [Buffer.alloc(64), Buffer.from("cffaedfe0c000001", "hex")];
elf.writeUInt32BE(0x7f454c46);
elf.writeUInt16LE(62, 18);

test("the package for Azure has what runs there: dependencies, their peers, and native parts of Linux x64 alone", () => {
  app({ native: "1", plugin: "1" }, { devDependencies: { dev: "1" } });
  const optional = { "native-linux-x64": "1", "native-linuxmusl-x64": "1", "native-darwin-arm64": "1" };
  install("node_modules/native", { optionalDependencies: { ...optional, fsevents: "1" } });
  install("node_modules/native-linux-x64", forLinux);
  install("node_modules/native-linuxmusl-x64", { ...forLinux, libc: ["musl"] });
  install("node_modules/native-darwin-arm64", { os: ["darwin"], cpu: ["arm64"] });
  install("node_modules/plugin", {
    peerDependencies: { peer: "1", gone: "1", perhaps: "1" },
    peerDependenciesMeta: { perhaps: { optional: true } },
  });
  for (const name of ["peer", "perhaps", "dev"]) install(`node_modules/${name}`, { os: ["!win32"] });
  write("node_modules/native-linux-x64/native.node", elf);
  write("node_modules/native/prebuilds/darwin.node", machO);
  write("node_modules/native/prebuilds/linux.node", elf);
  expect(build()).toEqual({ status: 0, why: "" });
  const there = ["native", "native-linux-x64", "plugin", "peer", ...Object.keys(optional), "perhaps", "dev"];
  expect(there.filter((name) => has(`node_modules/${name}`))).toEqual([
    ...["native", "native-linux-x64", "plugin", "peer", "native-linux-x64"],
  ]);
});

test("a build where the native parts of Linux x64 are missing stops, and says how to install them", () => {
  app({ native: "1" });
  install("node_modules/native", {
    optionalDependencies: { "native-linux-x64": "1", "native-darwin-arm64": "1" },
  });
  install("node_modules/native-darwin-arm64", { os: ["darwin"] });
  const way = expect.stringMatching(
    /^node_modules\/native needs native-linux-x64 on Azure, which is missing. Run "npm ci --os=linux --cpu=x64 --libc=glibc && node build.mjs"/,
  );
  expect(build()).toEqual({ status: 1, why: way });
});

test("a build with a native module that was compiled for another system stops", () => {
  app({ compiled: "1" });
  install("node_modules/compiled");
  write("node_modules/compiled/build/Release/x.node", machO);
  const why = expect.stringContaining("node_modules/compiled/build/Release/x.node is not for Linux x64");
  expect(build()).toEqual({ status: 1, why });
});

test("a package of a workspace is copied as code of the app, without its tests and hidden files", () => {
  app({ "@acme/pricing": "*" });
  const about = { name: "@acme/pricing", version: "1.0.0", dependencies: { rates: "1" } };
  const at = join(folder, "workspace/pricing");
  for (const name of ["package.json", "index.ts", "index.test.ts", ".npmrc", "node_modules/other/index.js"])
    write(join("workspace/pricing", name), name === "package.json" ? JSON.stringify(about) : "");
  install("node_modules/rates");
  mkdirSync(join(folder, "node_modules/@acme"), { recursive: true });
  symlinkSync(at, join(folder, "node_modules/@acme/pricing"), "junction");
  expect(build()).toEqual({ status: 0, why: "" });
  const copied = "node_modules/@acme/pricing";
  const names = ["index.ts", "index.test.ts", ".npmrc", "node_modules"].map((one) => has(join(copied, one)));
  expect([names, has("node_modules/rates")]).toEqual([[true, false, false, false], true]);
  const text = readFileSync(join(folder, "dist", copied, "package.json"), "utf8");
  expect(JSON.parse(text)).toEqual({ ...about, private: true });
});

test("a build stops at an import that leaves src, which would be missing on Azure", () => {
  app({});
  write("src/calculations/mine.ts", 'import { rate } from "../../shared/rate.ts";');
  const why = "src/calculations/mine.ts imports ../../shared/rate.ts, which is not in the package";
  expect(build()).toEqual({ status: 1, why: expect.stringContaining(why) });
});
