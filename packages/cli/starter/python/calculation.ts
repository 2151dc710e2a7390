import { defineCommandCalculation, z } from "leasefold";

/**
 * STARTING-NAME finds the number below a limit whose Collatz sequence takes the most steps. STARTING-NAME.py computes it; this file
 * says what it is called and what its parameters are. A Functions app has no Python: workers in containers compute its runs
 * there, from STARTING-NAME.Dockerfile.
 */

// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCommandCalculation({
  // The name for `leasefold submit`: 1 to 40 lower-case letters, digits and dashes.
  name: "STARTING-NAME",
  summary: "finds the number below a limit with the most Collatz steps, in Python",

  // The parameters are a zod schema with types, limits, defaults and descriptions. On the command line they are options,
  // `--below 1e6`. The program gets them as JSON.
  params: z.strictObject({
    below: z.coerce.number().int().min(2).max(1e8).default(1e5).describe("numbers from 1 to below this one"),
  }),

  // The program, found by PATH, and its arguments; no shell reads them.
  command: ["python3", "STARTING-NAME.py"],
  folder: import.meta.dirname,

  // The code of this calculation: another content of one of these files is another version. List each script that the program
  // imports. The interpreter and its packages are not part of it; where they matter, give a version, and change it with them:
  //   version: "1",
  files: ["STARTING-NAME.py"],
});
