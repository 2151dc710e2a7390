import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { compileKernel } from "../../../scripts/compileKernel.mjs";
import { fastestKernel, type Kernels, kernelLoader } from "../../../src/calculations/kernels/loadKernel.ts";
import { pathKernels } from "../../../src/calculations/options/loadPathKernel.ts";
import { sieveKernels } from "../../../src/calculations/primes/loadSieveKernel.ts";

describe.each([
  {
    calculation: "primes",
    kernels: sieveKernels,
    source: "primes/loadSieveKernel.ts",
    called: "sieveKernels",
  },
  {
    calculation: "options",
    kernels: pathKernels,
    source: "options/loadPathKernel.ts",
    called: "pathKernels",
  },
] as const)("the kernel that a thread takes for $calculation", ({ calculation, source, called, ...of }) => {
  const kernels: Kernels<{ readonly name: string }> = of.kernels;
  const built = `${calculation}.wasm`;
  let folder: string;
  const file = (name: string): string => join(folder, name);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-kernel-"));
    const wasm = await compileKernel(calculation);
    await writeFile(file(built), wasm);
    await writeFile(file("cut.wasm"), wasm.subarray(0, wasm.length - 20));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("is the compiled one where it was built, JavaScript elsewhere", () => {
    expect(fastestKernel(kernels, [file("none.wasm"), file(built)]).name).toBe("WebAssembly");
    expect(fastestKernel(kernels, [file("none.wasm")]).name).toBe("JavaScript");
  });

  test("is JavaScript, with a warning, where the module is broken", () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    expect(fastestKernel(kernels, [file("cut.wasm"), file(built)]).name).toBe("JavaScript");
    expect(warned.mock.calls).toEqual([
      [expect.stringMatching(/cut\.wasm does not run here, so .* JavaScript/)],
    ]);
  });

  test.runIf(process.arch === "x64")(
    "is JavaScript, with a warning, where the engine has no SIMD",
    async () => {
      const sources = new URL("../../../src/calculations/", import.meta.url).href;
      const script = `import { fastestKernel } from "${sources}kernels/loadKernel.ts";
      import { ${called} as kernels } from "${sources}${source}";
      console.log(fastestKernel(kernels, [${JSON.stringify(file(built))}]).name);`;
      const args = ["--no-enable-ssse3", "--input-type=module", "--eval", script];
      const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
      expect(stdout + stderr).toMatch(/^JavaScript\n.*SIMD unsupported/s);
    },
  );

  const beside = new URL(`../../../dist/${built}`, import.meta.url);
  test.runIf(existsSync(beside))("is found where the build puts it", () => {
    vi.stubEnv("LEASEFOLD_WASM", "true");
    expect(kernelLoader(kernels)().name).toBe("WebAssembly");
  });

  test("is made once, and is JavaScript where LEASEFOLD_WASM is false", () => {
    vi.stubEnv("LEASEFOLD_WASM", "false");
    const load = kernelLoader(kernels);
    expect(load().name).toBe("JavaScript");
    expect(load()).toBe(load());
  });
});
