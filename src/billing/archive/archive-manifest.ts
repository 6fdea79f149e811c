import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { type Static, Type } from 'typebox'

const FILE_FORMAT = 'shuntyard-archive-1'

export const MANIFEST_FILE = 'manifest.json'

/**
 * What the files of an archive contain: its hash, which the database keeps, proves them. A second export of a month gives
 * the same. Amounts are pico-USD.
 */
const Manifest = Type.Object({
  /** With whatever name the project had. */
  format: Type.String({ pattern: '^\\w+-archive-1$' }),
  /** `2026-03` (UTC, by the time of a call's id). */
  month: Type.String({ pattern: '^\\d{4}-\\d{2}$' }),
  /** The month is the last one of the archive, which has everything before it too. */
  and_before: Type.Boolean(),
  files: Type.Array(
    Type.Object({
      table: Type.String(),
      name: Type.String({ pattern: '^[a-z_]+\\.csv\\.gz$' }),
      columns: Type.Array(Type.String()),
      rows: Type.Integer(),
      bytes: Type.Integer(),
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    }),
  ),
  /** Sums of the entries; those of all customers are one, and those of all receivables. */
  sums: Type.Record(Type.String(), Type.String()),
  /** Of all calls. */
  charge_pico: Type.String(),
})

export type ArchiveManifest = Static<typeof Manifest>
export type ArchivedFile = ArchiveManifest['files'][number]

let validate: ValidateFunction<ArchiveManifest> | undefined

/** The schema is compiled at the first manifest, to keep the start of a process fast. */
function isManifest(value: unknown): value is ArchiveManifest {
  validate ??= new Ajv().compile<ArchiveManifest>(Manifest)
  return validate(value)
}

export const newManifest = (content: Omit<ArchiveManifest, 'format'>): ArchiveManifest => ({
  format: FILE_FORMAT,
  ...content,
})

export const printManifest = (manifest: ArchiveManifest): string => `${JSON.stringify(manifest, null, 2)}\n`

export const manifestHash = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Reads the manifest of a folder, or the file itself. Throws an Error that says what is wrong. */
export async function readManifest(
  path: string,
): Promise<{ manifest: ArchiveManifest; folder: string; sha256: string }> {
  const folder = path.endsWith('.json') ? join(path, '..') : path
  const text = await readFile(path.endsWith('.json') ? path : join(path, MANIFEST_FILE), 'utf8')
  const parsed: unknown = JSON.parse(text)
  if (!isManifest(parsed)) throw new Error(`${path} is no manifest of an archive (${FILE_FORMAT})`)
  return { manifest: parsed, folder, sha256: manifestHash(text) }
}
