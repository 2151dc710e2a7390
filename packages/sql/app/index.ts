import { startApp } from "../../../src/app/startApp.ts";
import { builtIn } from "../builtIn.ts";

// What the Functions host loads.
startApp(builtIn);
