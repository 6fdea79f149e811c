import { buffer } from 'node:stream/consumers'
import { describe, expect, test, vi } from 'vitest'
import type { BodyStore } from '../../src/platform/body-store/body-store.ts'
import { type FilePlace, ResponseFiles } from '../../src/providers/response-files.ts'

const OWNER = { accountId: 'acct_1', callId: 'chatcmpl_1' }
const FIELD: FilePlace = { kind: 'field', name: 'b64_json' }

/** A store in memory, and what it holds by the order in which it was stored. */
function memoryStore(options: { read?: (content: AsyncIterable<Uint8Array>) => Promise<Buffer> } = {}) {
  const { read = (content) => buffer(content) } = options
  const stored: Buffer[] = []
  const put: BodyStore['put'] = async (_owner, name, content, { mediaType }) => {
    const bytes = await read(content)
    stored.push(bytes)
    return { ref: name, bytes: bytes.length, mediaType }
  }
  return { store: { put }, stored }
}

function reply(place: FilePlace, memory = memoryStore()) {
  const flow = { hold: vi.fn(), release: vi.fn() }
  return { files: new ResponseFiles(place, { store: memory.store, owner: OWNER }, flow), flow, ...memory }
}

const REPLY = {
  created: 1,
  note: 'a "b64_json": \\" in a text',
  b64_json: 'QUJD',
  data: [
    { b64_json: 'aGVsbG8='.repeat(40), revised_prompt: 'größer "so" \\ 🎉' },
    { nested: { b64_json: '' }, other: 'b64_json' },
  ],
}

describe('the files of a reply', () => {
  test.each([1, 2, 3, 7, 64, 10_000])(
    'are taken out of its JSON, in pieces of %i bytes as in one',
    async (size) => {
      const { files, stored } = reply(FIELD)
      const bytes = Buffer.from(JSON.stringify(REPLY, null, size % 2))
      for (let at = 0; at < bytes.length; at += size)
        expect(files.push(bytes.subarray(at, at + size))).toBe(true)
      const { rest, files: made } = await files.end()
      expect(JSON.parse(rest)).toEqual({
        ...REPLY,
        b64_json: '0',
        data: [
          { ...REPLY.data[0], b64_json: '1' },
          { ...REPLY.data[1], nested: { b64_json: '2' } },
        ],
      })
      expect(stored.map(String)).toEqual(['QUJD', REPLY.data[0]!.b64_json, ''])
      expect(made.map(({ head }) => head.toString())).toEqual(['QUJD', 'aGVsbG8='.repeat(8), ''])
    },
  )

  test('are the reply itself where it is one', async () => {
    const { files, stored } = reply({ kind: 'body' })
    files.push(Buffer.from('RIFF'))
    files.push(Buffer.from('more'))
    expect((await files.end()).files).toMatchObject([{ bytes: 8, head: Buffer.from('RIFFmore') }])
    expect(stored.map(String)).toEqual(['RIFFmore'])
  })

  test('are refused where they are no base64, or too long', () => {
    const push = (value: string) => reply(FIELD).files.push(Buffer.from(`{"b64_json":"${value}`))
    expect([push('QUJD'), push('QU\\nJD'), push('<html>')]).toEqual([true, false, false])
    const { files } = reply({ kind: 'body' })
    const chunk = Buffer.alloc(8 * 1024 * 1024)
    expect([1, 2, 3, 4, 5].map(() => files.push(chunk))).toEqual([true, true, true, true, false])
  })

  test('leave little else: a reply that is long without them is refused', () => {
    expect(reply(FIELD).files.push(Buffer.from(`{"note":"${'x'.repeat(300_000)}"}`))).toBe(false)
  })

  test('are refused where there are more than any request asks for', () => {
    const files = (count: number) => reply(FIELD).files.push(Buffer.from('{"b64_json":"QQ=="}'.repeat(count)))
    expect([files(32), files(33)]).toEqual([true, false])
  })

  test('are read no faster than they are stored', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = memoryStore({
      read: async (content) => {
        await gate.promise
        return buffer(content)
      },
    })
    const { files, flow, stored } = reply({ kind: 'body' }, slow)
    files.push(Buffer.alloc(100_000))
    expect(flow.hold).not.toHaveBeenCalled()
    files.push(Buffer.alloc(300_000))
    expect(flow.hold).toHaveBeenCalled()
    expect(flow.release).not.toHaveBeenCalled()
    gate.resolve()
    await vi.waitFor(() => expect(flow.release).toHaveBeenCalled())
    await files.end()
    expect(stored[0]!.length).toBe(400_000)
  })

  test('files that the store refuses do not block the reply, which is read to its end', async () => {
    const full = memoryStore({ read: () => Promise.reject(new Error('the disk is full')) })
    const { files, flow } = reply({ kind: 'body' }, full)
    files.push(Buffer.from('RIFF'))
    await vi.waitFor(() => expect(flow.release).toHaveBeenCalled())
    expect(files.push(Buffer.alloc(1_000_000))).toBe(true)
    expect(flow.hold).not.toHaveBeenCalled()
    await expect(files.end()).rejects.toThrow('the disk is full')
  })

  test('files of a broken reply are not stored, and a failing store is reported at the end', async () => {
    const broken = reply({ kind: 'body' })
    broken.files.push(Buffer.from('RIFF'))
    broken.files.discard()
    await expect(broken.files.end()).rejects.toThrow('the response ended early')
    expect(broken.stored).toEqual([])
    const failing = memoryStore({ read: () => Promise.reject(new Error('the disk is full')) })
    const full = reply({ kind: 'body' }, failing)
    full.files.push(Buffer.from('RIFF'))
    await expect(full.files.end()).rejects.toThrow('the disk is full')
  })
})
