import asc from "assemblyscript/asc";

/** The WebAssembly of assembly/count.ts in Base64, which kernel.ts holds: `npm install --save-dev assemblyscript` first. */
export async function compileKernel(): Promise<string> {
  const written: Uint8Array[] = [];
  const args = ["assembly/count.ts", "--baseDir", import.meta.dirname, "--outFile", "count.wasm"];
  const { error, stderr } = await asc.main([...args, "-O3", "--runtime", "stub"], {
    writeFile: (_name: string, wasm: unknown) => void written.push(wasm as Uint8Array),
  });
  if (error !== null) throw new Error(`${error.message}\n${stderr.toString()}`);
  return Buffer.concat(written).toString("base64");
}

if (process.argv[1] === import.meta.filename) console.log(await compileKernel());
