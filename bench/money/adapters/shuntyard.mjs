/** Shuntyard from a clone: SHUNTYARD_DIR (default: the clone that this folder is in), its own Node and its role processes. */
import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pause } from '../client.mjs'
import { COMPLETION_USD, PROMPT_USD } from '../judge.mjs'
import { answers, folder, freePort, killAll, part, postgres, redis } from '../services.mjs'

const ROOT = process.env.SHUNTYARD_DIR ?? join(import.meta.dirname, '../../..')
const run = promisify(execFile)
const HIGH = '1000000000'

export async function open({ providerUrl, instances, postgresPrograms, redisProgram }) {
  const [database, cache] = [await postgres(postgresPrograms), await redis(redisProgram)]
  const catalogFile = join(folder(), 'catalog.json')
  const writePrice = (usd) => {
    const perMillion = (each) => String(Math.round(each * 1e6))
    const rate = { prompt: perMillion(PROMPT_USD), completion: perMillion(usd) }
    const list = { prompt: perMillion(PROMPT_USD * 2), completion: perMillion(usd * 2) }
    const offers = [{ provider: 'sim', upstream_model: 'sim', cost: { prompt: '0', completion: '1' } }]
    const model = { id: 'sim/sim', vendor: 'sim', context_length: 100_000, list_price: list, rate, offers }
    writeFileSync(
      catalogFile,
      JSON.stringify({ replace: true, providers: [{ id: 'sim', base_url: providerUrl }], models: [model] }),
    )
  }
  writePrice(COMPLETION_USD)
  const env = {
    ...{ DATABASE_URL: database.url(), REDIS_URL: cache.url, DATA_DIR: folder(), CATALOG_FILE: catalogFile },
    ...{ MASTER_KEY: randomBytes(32).toString('base64'), HOST: '127.0.0.1', LOG_LEVEL: 'warn' },
    ...{ REQUESTS_PER_MINUTE: HIGH, TOKENS_PER_MINUTE: HIGH.padEnd(13, '0'), CONCURRENT_CALLS: HIGH },
    ...{ ACCOUNT_REQUESTS_PER_MINUTE: HIGH, ACCOUNT_CONCURRENT_CALLS: HIGH },
  }
  const command = async (name, given = '') => {
    const args = given.split(' ').filter(Boolean)
    const options = { cwd: ROOT, env: { ...process.env, ...env } }
    const { stdout } = await run(
      process.execPath,
      [join(ROOT, `src/cli/${name}.ts`), ...args, '--json'],
      options,
    )
    return JSON.parse(stdout)
  }
  await command('migrate')
  const role = async (name, args) => {
    const [port, metrics] = [await freePort(), await freePort()]
    const url = `http://127.0.0.1:${port}`
    const isReady = () => answers(name === 'api' ? `${url}/readyz` : `http://127.0.0.1:${metrics}/metrics`)
    const process_ = part({
      name,
      command: process.execPath,
      args: args.map((arg) => (arg.endsWith('.ts') ? join(ROOT, arg) : arg)),
      cwd: ROOT,
      env: { ...env, PORT: String(port), METRICS_PORT: String(metrics) },
      isReady,
    })
    await process_.start()
    return { ...process_, url }
  }
  const workers = [
    await role('settlement', ['workers/main.ts', 'settlement']),
    await role('dispatch', ['workers/main.ts', 'dispatch']),
  ]
  const apis = []
  for (let index = 0; index < instances; index++) apis.push(await role('api', ['src/main.ts']))
  const parts = { gateway: apis, worker: workers, store: [database, cache] }
  return {
    ...{ name: 'Shuntyard', version: JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version },
    ...{ urls: apis.map(({ url }) => url), model: 'sim/sim', parts: Object.keys(parts) },
    ...{ settleMs: 20_000, startMs: 15_000 },
    async open(balanceUsd) {
      const email = `${randomUUID()}@bench.test`
      const made = await command('admin', `account create --email ${email} --credit ${balanceUsd}`)
      const { key } = await command('admin', `key create --account ${made.account_id}`)
      return { id: made.account_id, key }
    },
    async spent({ key }) {
      const response = await fetch(`${apis[0].url}/v1/credits`, {
        headers: { authorization: `Bearer ${key}` },
      })
      return Number((await response.json()).data.total_usage)
    },
    // Files are read again within two seconds.
    setPrice: async (usd) => {
      writePrice(usd)
      await pause(4_000)
    },
    async refund({ id }, usd) {
      try {
        await command('admin', `account adjust ${id} --amount=${-usd} --reason refund`)
        return usd
      } catch (error) {
        if (!String(error.stdout).includes('is available')) throw error
        return 0
      }
    },
    kill: (name) => killAll(parts[name]),
    ready: () => Promise.all([...workers, ...apis].map((each) => each.ready())),
  }
}
