import { readFileSync } from 'node:fs'
import { defineScript, type Redis, type RedisScript } from '../../platform/redis/redis.ts'
import { forRelayChannels } from '../../platform/redis/relay-channel.ts'

const read = (file: string | URL): string => readFileSync(new URL(file, import.meta.url), 'utf8')

/** The Lua functions over holds, prepended to every script that opens, changes or closes one. */
const HOLDS = read('./holds.lua')

/** Defines a script over holds on a client; `file` is its URL. */
export const defineHoldScript = (redis: Redis, name: string, file: URL): RedisScript =>
  defineScript(redis, name, forRelayChannels(redis, HOLDS + read(file)))
