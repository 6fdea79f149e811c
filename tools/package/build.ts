import { join } from 'node:path'
import { ROOT } from '../launcher/bootstrap/installation.mjs'
import { consoleFolder, ensureConsole } from '../launcher/build-console.ts'
import { buildPackage } from './build-package.ts'

// `npm pack` runs this first.
await ensureConsole(ROOT)
buildPackage({ root: ROOT, pages: join(consoleFolder(ROOT), 'dist'), target: ROOT })
