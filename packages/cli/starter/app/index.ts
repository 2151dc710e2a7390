import { registerLeasefold } from "leasefold/app";

// Registers the timer, the queue triggers and the HTTP API of Leasefold, with the calculations in this folder. Functions of your
// own may be registered here too.
registerLeasefold({ calculations: new URL("./calculations/", import.meta.url) });
