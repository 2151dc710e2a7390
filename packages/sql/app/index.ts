import { packagedFolder } from "../../../src/engine/calculation/ownFiles.ts";
import { registerLeasefold } from "./leasefoldApp.ts";

// What the Functions host loads.
registerLeasefold({ calculations: packagedFolder() });
