import { describe, expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import type { ContentPart } from '../../../src/core/calls/content-part.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { pngUrl } from '../../helpers/content-parts.ts'
import { needsOf } from '../../helpers/plan-of.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

function parsed(part: unknown, role = 'user'): ContentPart {
  const { messages } = parseChatRequest({ messages: [{ role, content: [part] }] }).content
  return (messages[0]!.content as ContentPart[])[0]!
}

function refusal(part: unknown, role = 'user'): { param: string | undefined; message: string } {
  try {
    parsed(part, role)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_request') {
      return { param: error.details.param, message: error.message }
    }
    throw error
  }
  throw new Error('the part was accepted')
}

const image = (url: string, more: object = {}) => ({ type: 'image_url', image_url: { url, ...more } })
const file = (data: string) => ({ type: 'file', file: { filename: 'a', file_data: data } })

describe('a content part', () => {
  test('keeps the fields of its type and drops all others', () => {
    expect(parsed({ type: 'text', text: 'Hi', cache_control: {}, image_url: 'x' })).toEqual({
      type: 'text',
      text: 'Hi',
    })
    const sent = { ...image('https://a/b.png', { detail: 'low', text: 'y' }), text: 'x'.repeat(9_000) }
    expect(parsed(sent)).toEqual({ type: 'image', source: { url: 'https://a/b.png' }, detail: 'low' })
    expect(parsed({ type: 'image_url', image_url: 'https://a/b.png' })).toEqual({
      type: 'image',
      source: { url: 'https://a/b.png' },
    })
  })

  test.each(['input_text', 'input_image', 'document', 'constructor', '__proto__', 7, undefined])(
    'of the unknown type %s is refused by its path',
    (type) => {
      const { param, message } = refusal({ type, text: 'x'.repeat(800_000) })
      expect(param).toBe('messages[0].content[0].type')
      expect(message).toContain('text, image_url, input_audio, video_url, file')
    },
  )

  test('a refusal is text where the assistant says it, and unknown elsewhere', () => {
    const part = { type: 'refusal', refusal: 'I cannot.' }
    expect(parsed(part, 'assistant')).toEqual({ type: 'text', text: 'I cannot.' })
    expect(refusal(part).param).toBe('messages[0].content[0].type')
  })

  test.each<[string, unknown, ContentPart['type']]>([
    ['a PDF in an image', image(`data:application/pdf;base64,${base64('%PDF-1.4')}`), 'file'],
    ['a video in an image', image('data:video/mp4;base64,AAAA'), 'video'],
    ['audio in an image', image('data:audio/wav;base64,AAAA'), 'audio'],
    ['an image in a file', file('data:image/png;base64,AAAA'), 'image'],
    ['a video in a file', file('data:video/webm;base64,AAAA'), 'video'],
    ['the address of a video in an image', image('https://a/b.mp4?x=1'), 'video'],
    ['the address of a PDF in an image', image('https://a/b.PDF'), 'file'],
    ['the address of a video site in an image', image('https://www.youtube.com/watch?v=1'), 'video'],
    ['the address of a video whose ending is escaped', image('https://a/b.mp%34'), 'video'],
    ['the absolute name of a video site', image('https://www.youtube.com./watch?v=1'), 'video'],
    ['the address of an image in a video', { type: 'video_url', video_url: 'https://a/b.png' }, 'video'],
    ['the address of an image in a file', file('https://a/b.png'), 'file'],
  ])('%s asks for the modality of what it is', (_, part, type) => {
    expect(parsed(part).type).toBe(type)
    const request = parseChatRequest({ messages: [{ role: 'user', content: [part] }] })
    expect(needsOf(request).modalities).toEqual(['text', type])
  })

  test.each([
    image(`data:text/plain;base64,${base64('Grüße')}`),
    file(`data:text/csv;charset=utf-8;base64,${base64('Grüße')}`),
    file(`data:text/plain,${encodeURIComponent('Grüße')}`),
    { type: 'video_url', video_url: { url: `data:text/html;base64,${base64('Grüße')}` } },
  ])('text in a data URL is text, wherever it stands: %j', (part) => {
    expect(parsed(part)).toEqual({ type: 'text', text: 'Grüße' })
  })

  test.each<[string, unknown, string]>([
    ['an unknown media type', image('data:application/zip;base64,AAAA'), 'image_url'],
    ['a picture that is text', image('data:image/svg+xml;base64,AAAA'), 'image_url'],
    ['no media type', image('data:;base64,AAAA'), 'image_url'],
    ['no base64', image('data:image/png,AAAA'), 'image_url'],
    ['broken base64', image('data:image/png;base64,A*A'), 'image_url'],
    ['nothing', image('data:image/png;base64,'), 'image_url'],
    ['text that is not UTF-8', image('data:text/plain;base64,/w=='), 'image_url'],
    ['text of a broken encoding', image('data:text/plain,%'), 'image_url'],
    ['an address of another kind', image('gs://bucket/video.mp4'), 'image_url'],
    ['no address', image('cat.png'), 'image_url'],
    ['an unknown detail', image('https://a/b.png', { detail: 'max' }), 'image_url.detail'],
    ['the id of a file', { type: 'file', file: { file_id: 'file-1' } }, 'file.file_data'],
    ['the address of audio', file('https://a/b.mp3'), 'file.file_data'],
    [
      'an unknown format',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'x' } },
      'input_audio.format',
    ],
    [
      'audio by address',
      { type: 'input_audio', input_audio: { data: 'https://a', format: 'wav' } },
      'input_audio.data',
    ],
    ['text that is none', { type: 'text', text: ['a'] }, 'text'],
  ])('with %s is refused by its path', (_, part, path) => {
    expect(refusal(part).param).toBe(`messages[0].content[0].${path}`)
  })

  test('an image says its size', () => {
    expect(parsed(image(pngUrl(640, 480)))).toMatchObject({ size: { width: 640, height: 480 } })
    expect(parsed(image('data:image/jpg;base64,AAAA'))).toEqual({
      type: 'image',
      source: { mediaType: 'image/jpeg', base64: 'AAAA' },
    })
  })
})
