import type { registerLeasefold as declared } from "../../../src/app/appTypes.ts";
import { registerLeasefold as register } from "../../../src/app/registerLeasefold.ts";
import { builtIn } from "../builtIn.ts";

/** What `leasefold/app` exports. */
export const registerLeasefold: typeof declared = (options = {}) => register(options, builtIn);
