import { readFileSync } from 'node:fs'
import { defineScript, type Redis, type RedisScript } from '../../platform/redis/redis.ts'

const read = (file: string | URL): string => readFileSync(new URL(file, import.meta.url), 'utf8')

/** The Lua functions over holds, which begin every script that opens, changes or closes one. */
const HOLDS = read('./holds.lua')

/** Defines a script over holds on a client; `file` is its URL. */
export const defineHoldScript = (redis: Redis, name: string, file: URL): RedisScript =>
  defineScript(redis, name, HOLDS + read(file))

export interface OpenHold {
  callId: string
  amountPico: bigint
  keyId: string
  /** The period of the key's allowance that it was taken from; empty where the key has none. */
  allowancePeriod: string
}

/** Parses a field of the hash `holds`; see holds.lua for the format. */
export function parseHold(callId: string, hold: string): OpenHold {
  const [amount, , keyId, allowancePeriod] = hold.split(':')
  if (amount === undefined || keyId === undefined || allowancePeriod === undefined)
    throw new Error(`malformed hold ${callId}`)
  return { callId, amountPico: BigInt(amount), keyId, allowancePeriod }
}
