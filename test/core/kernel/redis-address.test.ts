import { expect, test } from 'vitest'
import { parseRedisUrl, type RedisAddress } from '../../../src/core/kernel/redis-address.ts'

test.each<[string, RedisAddress]>([
  ['redis://:pass@h:6379/2', { kind: 'server', url: 'redis://:pass@h:6379/2' }],
  ['rediss://user:pass@h', { kind: 'server', url: 'rediss://user:pass@h' }],
  ['unix:///run/redis.sock', { kind: 'server', url: 'unix:///run/redis.sock' }],
  [
    'redis+sentinel://user:p%40ss@a:1,b,[::1]:3/?name=mymaster&sentinel_user=s&sentinel_password=w',
    {
      kind: 'sentinel',
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26_379 },
        { host: '::1', port: 3 },
      ],
      tls: false,
      username: 'user',
      password: 'p@ss',
      name: 'mymaster',
      sentinel: { username: 's', password: 'w' },
    },
  ],
  [
    'rediss+cluster://:pass@a,b:7001',
    {
      kind: 'cluster',
      hosts: [
        { host: 'a', port: 6_379 },
        { host: 'b', port: 7_001 },
      ],
      tls: true,
      password: 'pass',
    },
  ],
  [
    'redis://:p,w@a:1,unix:///b,rediss://c',
    { kind: 'servers', urls: ['redis://:p,w@a:1', 'unix:///b', 'rediss://c'] },
  ],
])('%s', (text, address) => expect(parseRedisUrl(text)).toEqual(address))

test.each([
  ['redis://a:1,redis+cluster://b:1', 'several redis://, rediss:// or unix:// addresses'],
  ['redis://a:1,redis://b:1,redis://a:1', 'REDIS_URL names a server twice'],
])('a list of addresses names plain servers, each once: %s', (text, problem) => {
  expect(() => parseRedisUrl(text)).toThrow(problem)
})
