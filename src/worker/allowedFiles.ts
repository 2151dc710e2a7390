import type { FileAccess } from "../calculations/files.ts";
import { CalculationError } from "../model/errors.ts";

/**
 * Files of these containers only. The app's identity may read its own state, other runs' results and whatever else it was
 * given, and a `source` is a parameter that anyone who submits runs chooses. Asked with each read too: the path of a file
 * comes out of a plan, which user code makes.
 */
export function allowedFiles(access: FileAccess, containers: readonly string[]): FileAccess {
  const check = (path: string): void => {
    const [container = ""] = path.split("/");
    if (containers.includes(container)) return;
    throw new CalculationError(
      "source-not-allowed",
      `${JSON.stringify(container.slice(0, 80))} is no container that calculations may read: allowed are ` +
        `${containers.join(", ")}; name further ones in LEASEFOLD_SOURCES`,
    );
  };
  return {
    async list(source, ...rest) {
      check(source);
      return access.list(source, ...rest);
    },
    async read(file, ...rest) {
      check(file.path);
      return access.read(file, ...rest);
    },
  };
}
