import { describe, expect, test } from 'vitest'
import { checkWebhookUrl } from '../../../src/platform/network/public-address.ts'

describe('the address of a webhook', () => {
  test.each([
    'https://example.com/hooks?source=shuntyard',
    'https://example.com:443/',
    'https://example.com:80/',
    'https://[2606:4700:4700::1111]/hook',
    'https://1.1.1.1/hook',
    'https://localhost.example.com/hook',
    'https://my-local.dev/hook',
  ])('%s is accepted', (url) => {
    expect(checkWebhookUrl(url, false)).toMatchObject({ kind: 'ok' })
  })

  test.each([
    ['http://example.com/', 'https'],
    ['ftp://example.com/', 'https'],
    ['file:///etc/passwd', 'https'],
    ['https://example.com:8443/', 'port'],
    ['https://user:secret@example.com/', 'credentials'],
    ['https://127.0.0.1/', 'public'],
    ['https://127.1/', 'public'],
    ['https://2130706433/', 'public'],
    ['https://0x7f000001/', 'public'],
    ['https://0177.0.0.1/', 'public'],
    ['https://169.254.169.254/latest/meta-data', 'public'],
    ['https://[::1]/', 'public'],
    ['https://[::ffff:127.0.0.1]/', 'public'],
    ['https://[fd00:ec2::254]/', 'public'],
    ['https://localhost/x', 'public'],
    ['https://LOCALHOST./x', 'public'],
    ['https://api.localhost/x', 'public'],
    ['https://printer.local/x', 'public'],
    ['https://metadata.google.internal/x', 'public'],
    ['https://router.home.arpa/x', 'public'],
    ['https://intranet/x', 'public'],
    ['nonsense', 'URL'],
    [`https://example.com/${'a'.repeat(2_048)}`, 'longer'],
  ])('%s is refused', (url, reason) => {
    expect(checkWebhookUrl(url, false)).toEqual({ kind: 'refused', reason: expect.stringContaining(reason) })
  })

  test('where private addresses are allowed, plain http, other ports and loopback are too', () => {
    expect(checkWebhookUrl('http://127.0.0.1:9000/hook', true)).toMatchObject({ kind: 'ok' })
    expect(checkWebhookUrl('ftp://127.0.0.1/', true)).toMatchObject({ kind: 'refused' })
    expect(checkWebhookUrl('http://user:secret@127.0.0.1/', true)).toMatchObject({ kind: 'refused' })
  })
})
