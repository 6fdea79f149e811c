import { fileFormat } from '../../../src/core/media/file-format.ts'
import { MP3_FRAME_BYTES, MP3_FRAME_HEAD, MP3_FRAME_SECONDS } from './silent-audio.ts'

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

/** A usual bitrate: 64 kbit/s. */
const USUAL_BYTES_PER_SECOND = 8_000

/**
 * The duration of a recording in seconds: exact for WAV and MP3s of silence, a guess by its length for other recordings;
 * null for what is none.
 */
export function secondsOf(bytes: Buffer): number | null {
  const format = fileFormat(bytes)
  if (format?.modality !== 'audio') return null
  if (format.extension === 'wav') {
    const rate = bytes.length >= HEAD_BYTES ? bytes.readUInt32LE(28) : 0
    return rate === 0 ? null : (bytes.length - HEAD_BYTES) / rate
  }
  const isSilence = MP3_FRAME_HEAD.every((byte, at) => bytes[at] === byte)
  return isSilence
    ? (bytes.length / MP3_FRAME_BYTES) * MP3_FRAME_SECONDS
    : bytes.length / USUAL_BYTES_PER_SECOND
}
