/** Files of silence in compressed formats, made of the same frame over and over, so that no encoder is needed. */

/** MPEG 1, layer III, 32 kbit/s, 48 kHz, one channel: 24 ms of samples that are all zero. */
export const MP3_FRAME_HEAD = [0xff, 0xfb, 0x14, 0xc0]
export const MP3_FRAME_BYTES = 96
export const MP3_FRAME_SECONDS = 0.024

export function silentMp3(seconds: number): Buffer {
  const frames = Math.ceil(seconds / MP3_FRAME_SECONDS)
  const bytes = Buffer.alloc(frames * MP3_FRAME_BYTES)
  for (let frame = 0; frame < frames; frame++) bytes.set(MP3_FRAME_HEAD, frame * MP3_FRAME_BYTES)
  return bytes
}

/** The other formats are of 24 kHz and one channel too. */
const SAMPLES_PER_SECOND = 24_000

/** AAC-LC in ADTS: a header without checksum, and an element whose only section of the spectrum is zero. ISO/IEC 14496-3. */
const AAC_FRAME = Buffer.from([0xff, 0xf1, 0x58, 0x40, 0x01, 0xbf, 0xfc, 0x00, 0xc8, 0x00, 0x80, 0x23, 0x80])
const AAC_FRAME_SAMPLES = 1_024

export const silentAac = (seconds: number): Buffer =>
  Buffer.concat(Array(Math.ceil((seconds * SAMPLES_PER_SECOND) / AAC_FRAME_SAMPLES)).fill(AAC_FRAME))

const FLAC_BLOCK_SAMPLES = 4_096

/** FLAC whose blocks are one constant each. Source: RFC 9639. */
export function silentFlac(seconds: number): Buffer {
  const blocks = Math.ceil((seconds * SAMPLES_PER_SECOND) / FLAC_BLOCK_SAMPLES)
  const info = Buffer.alloc(34)
  info.writeUInt16BE(FLAC_BLOCK_SAMPLES, 0)
  info.writeUInt16BE(FLAC_BLOCK_SAMPLES, 2)
  // Sample rate, channels less one, bits per sample less one and the number of samples: 20, 3, 5 and 36 bits.
  const format = (BigInt(SAMPLES_PER_SECOND) << 44n) | (15n << 36n) | BigInt(blocks * FLAC_BLOCK_SAMPLES)
  info.writeBigUInt64BE(format, 10)
  return Buffer.concat([
    Buffer.from('fLaC\x80\x00\x00\x22', 'latin1'),
    info,
    ...Array.from({ length: blocks }, (_, index) => flacBlock(index)),
  ])
}

function flacBlock(index: number): Buffer {
  // 4,096 samples at 24 kHz, one channel of 16 bits; the number of the block is coded like a character.
  const head = Buffer.concat([
    Buffer.from([0xff, 0xf8, 0xc7, 0x08]),
    Buffer.from(String.fromCodePoint(index)),
  ])
  const subframe = [0x00, 0x00, 0x00]
  const block = Buffer.from([...head, crc(head, 8, 0x07), ...subframe])
  const check = crc(block, 16, 0x8005)
  return Buffer.concat([block, Buffer.from([check >> 8, check & 0xff])])
}

/** A packet of 20 ms without a signal: its configuration, and the range coder's end. Source: RFC 6716. */
const OPUS_PACKET = Buffer.from([0xf8, 0xff, 0xfe])
const OPUS_PACKET_SECONDS = 0.02
/** Of Opus in Ogg, whatever the recording's rate was. Source: RFC 7845. */
const OPUS_SAMPLES_PER_SECOND = 48_000
const OPUS_PACKETS_PER_PAGE = 50

/** Ogg with Opus. */
export function silentOpus(seconds: number): Buffer {
  const head = Buffer.from('OpusHead\x01\x01\0\0\0\0\0\0\0\0\0', 'latin1')
  head.writeUInt32LE(SAMPLES_PER_SECOND, 12)
  const tags = Buffer.from('OpusTags\x03\0\0\0sim\0\0\0\0', 'latin1')
  const packets = Math.ceil(seconds / OPUS_PACKET_SECONDS)
  const pages = [oggPage(0, 0x02, 0, [head]), oggPage(1, 0, 0, [tags])]
  for (let sent = 0; sent < packets; ) {
    const count = Math.min(OPUS_PACKETS_PER_PAGE, packets - sent)
    sent += count
    const samples = Math.round(sent * OPUS_PACKET_SECONDS * OPUS_SAMPLES_PER_SECOND)
    const flags = sent === packets ? 0x04 : 0
    pages.push(oggPage(pages.length, flags, samples, Array(count).fill(OPUS_PACKET)))
  }
  return Buffer.concat(pages)
}

/** A page of packets below 255 bytes each. Source: RFC 3533. */
function oggPage(index: number, flags: number, samples: number, packets: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(27)
  head.write('OggS', 0, 'latin1')
  head[5] = flags
  head.writeBigUInt64LE(BigInt(samples), 6)
  head.writeUInt32LE(1, 14)
  head.writeUInt32LE(index, 18)
  head[26] = packets.length
  const page = Buffer.concat([head, Buffer.from(packets.map(({ length }) => length)), ...packets])
  page.writeUInt32LE(crc(page, 32, 0x04c11db7), 22)
  return page
}

/** A cyclic redundancy check of so many bits, highest bit first, that begins at zero. */
function crc(bytes: Uint8Array, bits: 8 | 16 | 32, polynomial: number): number {
  const top = 2 ** (bits - 1)
  let value = 0
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const isSet = ((value & top) !== 0) !== ((byte >> bit) % 2 === 1)
      value = isSet ? (value << 1) ^ polynomial : value << 1
    }
    value = bits === 32 ? value : value & (2 ** bits - 1)
  }
  return value >>> 0
}
