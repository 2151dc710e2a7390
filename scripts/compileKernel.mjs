import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "..");
const cache = join(root, "node_modules/.cache/leasefold");
const compiler = "assemblyscript/package.json";

/** No runtime and no imports: the module is its loops and a memory. The pass moves constants into loads and stores. */
const options = [
  ..."-O3 --enable simd --runtime stub --use abort= --noColors".split(" "),
  ..."--runPasses optimize-added-constants-propagate".split(" "),
];

/**
 * The bytes of the WebAssembly module that a calculation's AssemblyScript, `src/calculations/NAME/assembly`, becomes.
 * Compiling takes two seconds, so it is kept in `node_modules/.cache` under a hash of all that goes into it.
 */
export async function compileKernel(calculation) {
  const source = join(root, "src/calculations", calculation, "assembly");
  const names = (await readdir(source)).sort();
  const hash = createHash("sha256").update(JSON.stringify(options));
  hash.update(await readFile(join(root, "node_modules", compiler)));
  for (const name of names) hash.update(name).update(await readFile(join(source, name)));
  const kept = join(cache, `${calculation}-${hash.digest("hex").slice(0, 16)}.wasm`);
  try {
    return await readFile(kept);
  } catch {
    const wasm = await compile(source);
    await mkdir(cache, { recursive: true });
    // Written aside first: others may compile at the same time, and read while this writes.
    const aside = await mkdtemp(join(cache, "new-"));
    await writeFile(join(aside, "kernel.wasm"), wasm);
    await rename(join(aside, "kernel.wasm"), kept);
    await rm(aside, { recursive: true });
    return wasm;
  }
}

async function compile(source) {
  const { default: asc } = await import("assemblyscript/asc");
  let wasm;
  const args = [
    join(relative(root, source), "index.ts"),
    "--baseDir",
    root,
    "--outFile",
    "kernel.wasm",
    ...options,
  ];
  const { error, stderr } = await asc.main(args, {
    writeFile: (_name, bytes) => {
      wasm = bytes;
    },
  });
  if (error !== null || wasm === undefined) throw new Error(`${error?.message}\n${stderr.toString()}`);
  return Buffer.from(wasm);
}
