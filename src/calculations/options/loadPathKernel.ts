import { kernelLoader } from "../kernels/loadKernel.ts";
import { javaScriptKernel } from "./javaScriptKernel.ts";
import { webAssemblyKernel } from "./webAssemblyKernel.ts";

export const pathKernels = { name: "options", webAssembly: webAssemblyKernel, javaScript: javaScriptKernel };

export const loadPathKernel = kernelLoader(pathKernels);
