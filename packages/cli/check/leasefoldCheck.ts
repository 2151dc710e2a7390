/** The exports of `import … from "leasefold/check"`, for a user's own tests: what `leasefold check` tests without storage. */
export { brokenLaws } from "./laws/checkLaws.ts";
