import { resolve } from 'node:path'
import { buildConsole } from './start/build-console.ts'

/** `npm run console:build`: builds the console's pages into src/console/dist. */
await buildConsole(resolve(import.meta.dirname, '../..'))
