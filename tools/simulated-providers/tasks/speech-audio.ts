/** Samples of 16 bits, one channel: what speech is made of. */
const SAMPLES_PER_SECOND = 24_000
const BYTES_PER_SAMPLE = 2
const HEAD_BYTES = 44
const TONE_HERTZ = 220

/** A tone of so many seconds, as bare samples. */
export function toneSamples(seconds: number, seed: number): Buffer {
  const samples = Math.round(seconds * SAMPLES_PER_SECOND)
  const bytes = Buffer.alloc(samples * BYTES_PER_SAMPLE)
  const step = (2 * Math.PI * (TONE_HERTZ + (seed % TONE_HERTZ))) / SAMPLES_PER_SECOND
  for (let at = 0; at < samples; at++) {
    bytes.writeInt16LE(Math.round(8_000 * Math.sin(at * step)), at * BYTES_PER_SAMPLE)
  }
  return bytes
}

/** A WAV file of such samples. */
export function encodeWav(samples: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(HEAD_BYTES - 8 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(SAMPLES_PER_SECOND, 24)
  head.writeUInt32LE(SAMPLES_PER_SECOND * BYTES_PER_SAMPLE, 28)
  head.writeUInt16LE(BYTES_PER_SAMPLE, 32)
  head.writeUInt16LE(BYTES_PER_SAMPLE * 8, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

/** MPEG 1, layer III, 32 kbit/s, 48 kHz, one channel: 24 ms. */
const FRAME_HEAD = [0xff, 0xfb, 0x14, 0xc0]
const FRAME_BYTES = 96
const FRAME_SECONDS = 0.024

/** An MP3 of silence: frames whose samples are all zero, so that no encoder is needed. */
export function silentMp3(seconds: number): Buffer {
  const frames = Math.ceil(seconds / FRAME_SECONDS)
  const bytes = Buffer.alloc(frames * FRAME_BYTES)
  for (let frame = 0; frame < frames; frame++) bytes.set(FRAME_HEAD, frame * FRAME_BYTES)
  return bytes
}

/** The duration of a recording in seconds: exact for WAV and the MP3 above; null for anything else. */
export function secondsOf(bytes: Buffer): number | null {
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WAVE') {
    const rate = bytes.length >= HEAD_BYTES ? bytes.readUInt32LE(28) : 0
    return rate === 0 ? null : (bytes.length - HEAD_BYTES) / rate
  }
  const isMp3 = FRAME_HEAD.every((byte, at) => bytes[at] === byte)
  return isMp3 ? (bytes.length / FRAME_BYTES) * FRAME_SECONDS : null
}
