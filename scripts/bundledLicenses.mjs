import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Compiled into the kernels, where no bundler sees it. */
const compiledIn = ["node_modules/assemblyscript"];

/**
 * The text of `dist/LICENSES.txt`: name, version and license of every package of which the bundles contain code, by what
 * esbuild says of its inputs. Throws for a package that neither names its license nor has a text of it.
 */
export function bundledLicenses(metafiles) {
  const inputs = metafiles.flatMap(({ outputs }) => Object.values(outputs).flatMap(usedInputs));
  const folders = new Set([...compiledIn, ...inputs.flatMap((input) => folderOf(input) ?? [])]);
  return [...folders]
    .map(licenseOf)
    .sort()
    .join(`\n${"-".repeat(80)}\n\n`);
}

const usedInputs = ({ inputs }) =>
  Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []));

/** The folder of the package that a file belongs to; undefined for our own. */
const folderOf = (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];

function licenseOf(folder) {
  const { name, version, license, author } = JSON.parse(
    readFileSync(join(root, folder, "package.json"), "utf8"),
  );
  const texts = readdirSync(join(root, folder))
    .filter((file) => /^(licen[cs]e|notice|copying)\b/i.test(file))
    .sort()
    .map((file) => readFileSync(join(root, folder, file), "utf8").trim());
  if (texts.length === 0 && license === undefined) throw new Error(`${folder} names no license`);
  const by = author === undefined ? "" : `, by ${author.name ?? author}`;
  const head = `${name} ${version} (${license ?? "see below"}${texts.length === 0 ? by : ""})`;
  return `${[head, ...texts].join("\n\n")}\n`;
}
