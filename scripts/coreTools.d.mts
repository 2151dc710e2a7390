export const coreTools: string;
export const byNpx: readonly string[];
export function coreToolsCommand(
  root: string,
  path: string,
  canFetch: () => boolean,
): readonly string[] | undefined;
