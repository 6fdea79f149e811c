import { resolve } from 'node:path'
import { ensureConsole } from './start/build-console.ts'

/** `npm run console:build`: builds the console's pages into web/dist, unless they are there and current. */
await ensureConsole(resolve(import.meta.dirname, '../..'))
