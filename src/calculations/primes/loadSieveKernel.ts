import { kernelLoader } from "../kernels/loadKernel.ts";
import { javaScriptKernel } from "./javaScriptKernel.ts";
import { webAssemblyKernel } from "./webAssemblyKernel.ts";

export const sieveKernels = { name: "primes", webAssembly: webAssemblyKernel, javaScript: javaScriptKernel };

export const loadSieveKernel = kernelLoader(sieveKernels);
