import { readFileSync } from 'node:fs'

/**
 * The text of a Lua script: its files in order, first those with functions that it shares with others.
 * @param base URL of the file that names them, `import.meta.url`
 */
export const readScript = (base: string, ...files: string[]): string =>
  files.map((file) => readFileSync(new URL(file, base), 'utf8')).join('')
