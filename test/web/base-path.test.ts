import { expect, test } from 'vitest'
import { basePathOf } from '../../web/lib/base-path.ts'

test.each([
  ['https://gateway.example/assets/parts-4711.js', ''],
  ['https://gateway.example/gw/assets/parts-4711.js', '/gw'],
  ['https://gateway.example/a/b/assets/parts-4711.js', '/a/b'],
  ['http://127.0.0.1:5173/lib/base-path.ts', ''],
  ['file:///project/web/lib/base-path.ts', ''],
])('a script at %s is of a gateway below %j', (script, path) => {
  expect(basePathOf(script)).toBe(path)
})
