import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { Script } from "node:vm";
import type { Code, Texts } from "./simulationCode.ts";

type Load = (name: string) => unknown;
type Body = (exports: object, require: Load, module: Module, filename: string, dirname: string) => void;

interface Module {
  exports: object;
  /** Files of the repository that it requires. */
  readonly requires: Set<string>;
}

/**
 * Links the files of `code` anew for each set of changed ones, in milliseconds: only what requires a changed file, at
 * whatever remove, is evaluated again.
 */
export function linkedModules({ root, texts: asWritten }: Pick<Code, "root" | "texts">) {
  const bodies = new Map<string, Body>();
  const bodyOf = (file: string): Body => {
    const known = bodies.get(file);
    if (known !== undefined) return known;
    const text = asWritten.get(file);
    if (text === undefined) throw new Error(`${file} is no part of the simulation.`);
    const body = compiled(file, text);
    bodies.set(file, body);
    return body;
  };
  const compiled = (file: string, text: string): Body =>
    new Script(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, {
      filename: join(root, file),
    }).runInThisContext() as Body;
  const outside = createRequire(join(root, "package.json"));
  const asItIs = new Map<string, Module>();

  function evaluate(file: string, from: Map<string, Module>, bodyOf: (file: string) => Body): object {
    const known = from.get(file);
    if (known !== undefined) return known.exports;
    const module: Module = { exports: {}, requires: new Set() };
    from.set(file, module);
    const path = join(root, file);
    const load: Load = (name) => {
      if (!name.startsWith(".")) return outside(name);
      const wanted = relative(root, resolve(dirname(path), name));
      module.requires.add(wanted);
      return evaluate(wanted, from, bodyOf);
    };
    bodyOf(file)(module.exports, load, module, path, dirname(path));
    return module.exports;
  }

  return {
    /** The exports of `entry` with these files in place of those that are there. */
    link(entry: string, changed: Texts): object {
      const unchanged = evaluate(entry, asItIs, bodyOf);
      if (changed.size === 0) return unchanged;
      const bodiesOfChanged = new Map([...changed].map(([file, text]) => [file, compiled(file, text)]));
      const stale = new Set(bodiesOfChanged.keys());
      for (const file of stale) {
        for (const [user, { requires }] of asItIs) if (requires.has(file)) stale.add(user);
      }
      const modules = new Map([...asItIs].filter(([file]) => !stale.has(file)));
      return evaluate(entry, modules, (file) => bodiesOfChanged.get(file) ?? bodyOf(file));
    },
  };
}
