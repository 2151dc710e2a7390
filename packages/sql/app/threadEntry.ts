import { threadFile } from "../../../src/engine/worker/threads/threadStart.ts";

/** The file of the thread beside this one, for whoever runs from source. */
export const threadEntry = threadFile(import.meta.dirname, "thread");
