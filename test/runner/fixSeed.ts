import fc from "fast-check";
import { drawnSeed } from "../support/drawnSeed.ts";

/** Every property begins with the same seed each time, so that the same code gives the same verdict. */
fc.configureGlobal({ seed: drawnSeed ?? 1 });
