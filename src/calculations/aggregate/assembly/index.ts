/** The hot loops of cutting records; ../reading/cutKernel.ts calls them. Nothing is allocated here. */

export { cellsMax, ends, found, kinds, numbers, present, records, starts, table, task } from "./memory";
export { cutObjects } from "./objects";
export { cutRecords } from "./records";
