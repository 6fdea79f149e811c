import { describe, expect, test } from 'vitest'
import { clientNetworks } from '../../src/platform/network/client-networks.ts'

describe('the networks an address is counted under', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7/32'],
    ['::ffff:203.0.113.7', '203.0.113.7/32'],
    ['::ffff:cb00:7107', '203.0.113.7/32'],
    ['64:ff9b::203.0.113.7', '203.0.113.7/32'],
    ['203.0.113.7:4711', '203.0.113.7/32'],
  ])('IPv4 counts as it is, however it is written: %s', (address, subnet) => {
    expect(clientNetworks(address)).toEqual({ subnet, site: null })
  })

  test.each([
    ['2001:db8:aa:bb:1:2:3:4', '2001:db8:aa:bb::/64', '2001:db8:aa::/48'],
    ['2001:0DB8:00aa:00BB::1', '2001:db8:aa:bb::/64', '2001:db8:aa::/48'],
    ['2001:db8::1', '2001:db8:0:0::/64', '2001:db8:0::/48'],
    ['[2001:db8:aa:bb::1]:443', '2001:db8:aa:bb::/64', '2001:db8:aa::/48'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0::/48'],
    ['::1', '0:0:0:0::/64', '0:0:0::/48'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64', '1:2:3::/48'],
  ])('IPv6 counts by /64 and /48: %s', (address, subnet, site) => {
    expect(clientNetworks(address)).toEqual({ subnet, site })
  })

  test.each([
    '',
    'unknown',
    '203.0.113',
    '203.0.113.256',
    '1:2:3',
    '1::2::3',
    '1:2:3:4:5:6:7:8:9',
    '12345::',
  ])('what is no address counts together: %j', (address) => {
    expect(clientNetworks(address)).toEqual({ subnet: 'unknown', site: null })
  })
})
