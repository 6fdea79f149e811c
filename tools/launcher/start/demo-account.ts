import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProcess } from '../bootstrap/run-process.mjs'

const EMAIL = 'demo@shuntyard.local'
const CREDIT_USD = '5.00'

export interface DemoKeys {
  apiKey: string
  /** Null: an earlier start made and printed it, so that captured output of later starts does not hold it. */
  adminKey: string | null
  /** Where both are kept. */
  file: string
}

/** What is kept in demo.json, as far as an interrupted first start got. */
interface DemoFile {
  /** Which database the account is in, since DATABASE_URL may name another one tomorrow. */
  database: string
  accountId?: string
  apiKey?: string
  adminKey?: string
}

/**
 * On the first start, an account with balance and a key, and an admin key, made with the operator's own
 * commands; afterwards the same ones again, the admin key without its secret. The service shows a key once, so they are
 * kept in `demo.json`, which only the owner may read.
 */
export async function ensureDemoAccount({
  root,
  dataDir,
  environment,
  externalDatabaseUrl,
}: {
  root: string
  dataDir: string
  /** For the commands: DATABASE_URL, REDIS_URL, MASTER_KEY. */
  environment: Record<string, string | undefined>
  /** Null while the database is the embedded one. */
  externalDatabaseUrl: string | null
}): Promise<DemoKeys> {
  const path = join(dataDir, 'demo.json')
  const file = readDemoFile(path, databaseName(externalDatabaseUrl))
  const admin = (...args: string[]) => runAdmin(root, environment, args)
  const keep = (values: Partial<DemoFile>) => {
    Object.assign(file, values)
    writeFileSync(`${path}.new`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  if (!file.accountId) {
    keep({
      accountId: await admin('account_id', 'account', 'create', '--email', EMAIL, '--credit', CREDIT_USD),
    })
  }
  if (!file.apiKey) {
    keep({ apiKey: await admin('key', 'key', 'create', '--account', file.accountId ?? '', '--name', 'demo') })
  }
  const adminKey = file.adminKey ? null : await admin('key', 'admin-key', 'create')
  if (adminKey !== null) keep({ adminKey })
  return { apiKey: file.apiKey ?? '', adminKey, file: path }
}

function readDemoFile(path: string, database: string): DemoFile {
  if (!existsSync(path)) return { database }
  const file = JSON.parse(readFileSync(path, 'utf8')) as DemoFile
  return file.database === database ? file : { database }
}

/** The embedded database has another port at every start and stays the same; a named one is its address. */
function databaseName(databaseUrl: string | null): string {
  return databaseUrl ? createHash('sha256').update(databaseUrl).digest('hex') : 'embedded'
}

/** Runs an operator's command and returns one field of what it prints. */
async function runAdmin(
  root: string,
  environment: Record<string, string | undefined>,
  [field, ...args]: string[],
): Promise<string> {
  const command = [join(root, 'src/cli/admin.ts'), ...args, '--json']
  const output = await runProcess(process.execPath, command, { cwd: root, env: environment })
  const value = (JSON.parse(output) as Record<string, unknown>)[field ?? '']
  if (typeof value !== 'string') throw new Error(`${args.join(' ')} printed no ${field}: ${output}`)
  return value
}
