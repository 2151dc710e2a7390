/**
 * Loaded by each process of tests and by the threads that it starts. A thread of user code finds no `NODE_COMPILE_CACHE`
 * (`userEnv`): without this, each strips and compiles all of its files again, which is more than half of the CPU of its start.
 */
const { enableCompileCache } = require("node:module");
const { join } = require("node:path");

enableCompileCache(join(__dirname, "../../node_modules/.cache/leasefold-tests"));
