import { always } from "../calculations/registry.ts";
import { startApp } from "./startApp.ts";

// What the Functions host loads where no optional package is.
startApp(always);
