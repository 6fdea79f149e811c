import { applyMigrations, MIGRATIONS } from '../platform/postgres/migrate.ts'

/** `npm run migrate [-- --json]`: migrates the database of DATABASE_URL. Exits non-zero on failure. */
async function main(): Promise<void> {
  const json = process.argv.includes('--json')
  const databaseUrl = process.env.DATABASE_URL
  try {
    if (!databaseUrl) throw new Error('DATABASE_URL is required')
    const applied = await applyMigrations({ databaseUrl, directory: MIGRATIONS })
    print(json ? JSON.stringify({ applied }) : describe(applied))
  } catch (error) {
    const { message } = error as Error
    print(json ? JSON.stringify({ error: message }) : message)
    process.exitCode = 1
  }
}

const describe = (applied: string[]) =>
  applied.length === 0
    ? 'The database is up to date.'
    : `Applied:\n${applied.map((name) => `  ${name}`).join('\n')}`

const print = (text: string) => process.stdout.write(`${text}\n`)

await main()
