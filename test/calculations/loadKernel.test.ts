import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compileKernel } from "../../scripts/compileKernel.mjs";
import { instantiate, kernelLoader } from "../../src/calculations/loadKernel.ts";

describe.each(["primes", "exact"] as const)("the kernel that a thread loads for %s", (name) => {
  const built = new URL(`../../dist/${name}.wasm`, import.meta.url);

  test.runIf(existsSync(built))("the kernel is found where the build puts it, and started once", () => {
    let starts = 0;
    const load = kernelLoader(name, (wasm) => {
      starts += 1;
      return instantiate<object>(wasm);
    });
    expect(starts).toBe(0);
    expect(load()).toBe(load());
    expect(starts).toBe(1);
  });

  test("a broken kernel fails to start", async () => {
    const wasm = await compileKernel(name);
    expect(() => instantiate(wasm.subarray(0, wasm.length - 20))).toThrow(/WebAssembly\.Module/);
  });
});

test("a kernel that was not built fails with the command that builds it", () => {
  expect(kernelLoader("missing", instantiate)).toThrow(/missing\.wasm is missing\. Run npm run build\./);
});
