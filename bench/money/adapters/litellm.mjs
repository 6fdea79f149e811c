/**
 * LiteLLM's proxy: LITELLM (its program), budgets of its own keys, one Redis for its instances. LITELLM_PGDATA: a cluster
 * with its tables in the database `litellm`, where its migrations cannot run by themselves.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pause } from '../client.mjs'
import { COMPLETION_USD, PROMPT_USD } from '../judge.mjs'
import { answers, folder, freePort, killAll, part, postgres, redis } from '../services.mjs'

const MASTER = 'sk-Zk83hd72Hqpw91mXcLr5TnB4v'

export async function open({ providerUrl, instances, postgresPrograms, redisProgram }) {
  const program = process.env.LITELLM ?? 'litellm'
  const template = process.env.LITELLM_PGDATA
  const [database, cache] = [await postgres(postgresPrograms, template), await redis(redisProgram)]
  const config = join(folder(), 'config.json')
  const cacheParams = { type: 'redis', host: '127.0.0.1', port: cache.port, supported_call_types: [] }
  writeFileSync(
    config,
    JSON.stringify({
      router_settings: { num_retries: 0, redis_host: '127.0.0.1', redis_port: cache.port },
      litellm_settings: { cache: true, cache_params: cacheParams },
      general_settings: { master_key: MASTER, proxy_batch_write_at: 2, store_model_in_db: true },
    }),
  )
  const env = {
    DATABASE_URL: database.url(template ? 'litellm' : 'postgres'),
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    LITELLM_SALT_KEY: 'sk-salt',
    ...(template && { DISABLE_SCHEMA_UPDATE: 'true' }),
  }
  const proxies = []
  for (let index = 0; index < instances; index++) {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const args = ['--host', '127.0.0.1', '--port', String(port), '--config', config, '--telemetry', 'False']
    const isReady = () => answers(`${url}/health/readiness`)
    proxies.push({ ...part({ name: 'litellm', command: program, args, env, isReady }), url })
  }
  // The first makes the tables.
  await proxies[0].start()
  await Promise.all(proxies.slice(1).map((proxy) => proxy.start()))
  const ask = async (path, body, method = 'POST') => {
    const response = await fetch(`${proxies[0].url}${path}`, {
      headers: { authorization: `Bearer ${MASTER}`, 'content-type': 'application/json' },
      ...(body && { method, body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  const params = {
    model: 'openai/sim',
    api_base: providerUrl,
    api_key: 'none',
    input_cost_per_token: PROMPT_USD,
  }
  const at = (usd) => ({ litellm_params: { ...params, output_cost_per_token: usd } })
  const { model_id: modelId } = await ask('/model/new', { model_name: 'sim', ...at(COMPLETION_USD) })
  // The others read models from the database every 30 seconds.
  await pause(instances > 1 ? 35_000 : 0)
  const parts = { gateway: proxies, store: [database, cache] }
  return {
    ...{
      name: 'LiteLLM proxy',
      version: execFileSync(program, ['--version'])
        .toString()
        .match(/[\d.]+/)?.[0],
    },
    ...{ urls: proxies.map(({ url }) => url), model: 'sim', parts: Object.keys(parts) },
    ...{ settleMs: 40_000, startMs: 60_000 },
    async open(balanceUsd) {
      const { key, token } = await ask('/key/generate', { max_budget: balanceUsd, models: ['sim'] })
      return { key, id: token }
    },
    spent: async ({ key }) => (await ask(`/key/info?key=${key}`)).info.spend,
    setPrice: (usd) => ask(`/model/${modelId}/update`, at(usd), 'PATCH'),
    async refund({ key }, usd) {
      const { info } = await ask(`/key/info?key=${key}`)
      await ask('/key/update', { key, max_budget: info.max_budget - usd })
      return usd
    },
    kill: (name) => killAll(parts[name]),
    ready: () => Promise.all(proxies.map((proxy) => proxy.ready())),
  }
}
