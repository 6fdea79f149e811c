import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative } from 'node:path'

/** Literals that name a module of ours, in an import, a URL or the plan of a process. */
const MODULE_NAME = /(['"])((?:\.{1,2}|src|workers|tools|test)\/[\w./-]+)\.ts\1/g
/** In the package, what the gate needs of the folder of tests is in this one. */
const CHECKS = 'checks/'
/** The launcher of a clone is npm; texts for people name the program of the package. */
const NPM_COMMAND =
  /\bnpm (?:run )?(start|(?:admin|audit|catalog|doctor|gate|migrate|router|trace)\b)(?: --(?= ))?/g

/**
 * Copies a file or a folder of the sources with its TypeScript compiled: the types are replaced by spaces, as Node does
 * it by itself outside node_modules, so that every position in a stack trace is that of the source.
 * @param isLeftOut gets paths from `root`
 */
export function compileSources(
  root: string,
  source: string,
  target: string,
  isLeftOut: (path: string) => boolean,
): void {
  const folder = join(root, source)
  const files = statSync(folder).isFile()
    ? [source]
    : readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  for (const path of files.filter((path) => !isLeftOut(path) && !path.endsWith('.d.ts'))) {
    const copy = join(target, path.replace(/^test\//, CHECKS).replace(/\.ts$/, '.js'))
    mkdirSync(dirname(copy), { recursive: true })
    if (/\.(ts|mjs)$/.test(path)) writeFileSync(copy, compiled(path, readFileSync(join(root, path), 'utf8')))
    else cpSync(join(root, path), copy)
  }
}

function compiled(path: string, text: string): string {
  const script = path.endsWith('.ts') ? stripTypeScriptTypes(text) : text
  return script
    .replaceAll(
      MODULE_NAME,
      (_, quote: string, name: string) => `${quote}${name.replace(/^test\//, CHECKS)}.js${quote}`,
    )
    .replaceAll(NPM_COMMAND, 'shuntyard $1')
    .replaceAll(/[ \t]+$/gm, '')
}
