import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative } from 'node:path'

/** Literals that name a module of ours, in an import, a URL or the plan of a process. */
const MODULE_NAME = /(['"])((?:\.{1,2}|src|workers|tools)\/[\w./-]+)\.ts\1/g
/** The launcher of a clone is npm; texts for people name the program of the package. */
const NPM_COMMAND = /\bnpm (?:run )?(start|(?:admin|audit|catalog|migrate|router|trace)\b)(?: --(?= ))?/g

/**
 * Copies a folder of the sources with its TypeScript compiled: the types are replaced by spaces, as Node does it by
 * itself outside node_modules, so that every position in a stack trace is that of the source.
 * @param isLeftOut gets paths from `root`
 */
export function compileFolder(
  root: string,
  folder: string,
  target: string,
  isLeftOut: (path: string) => boolean,
): void {
  for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
    const source = join(entry.parentPath, entry.name)
    const path = relative(root, source)
    if (!entry.isFile() || isLeftOut(path) || path.endsWith('.d.ts')) continue
    const copy = join(target, path.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(copy), { recursive: true })
    if (/\.(ts|mjs)$/.test(path)) writeFileSync(copy, compiled(path, readFileSync(source, 'utf8')))
    else cpSync(source, copy)
  }
}

function compiled(path: string, text: string): string {
  const script = path.endsWith('.ts') ? stripTypeScriptTypes(text) : text
  return script
    .replaceAll(MODULE_NAME, '$1$2.js$1')
    .replaceAll(NPM_COMMAND, 'switchyard $1')
    .replaceAll(/[ \t]+$/gm, '')
}
