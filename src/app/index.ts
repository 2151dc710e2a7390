import { packagedFolder } from "../engine/calculation/ownFiles.ts";
import { registerLeasefold } from "./registerLeasefold.ts";

// What the Functions host loads where no optional package is.
registerLeasefold({ calculations: packagedFolder() });
