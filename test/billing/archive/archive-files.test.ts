import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ArchivedRow, readRows, writeRows } from '../../../src/billing/archive/archive-files.ts'

const ODD: ArchivedRow[] = [
  ['plain', null, ''],
  ['a "quoted" text', 'two\nlines', 'a, comma\r\n'],
  ['\\.', '\\N', '"'],
  ['', null, null],
  ['𝔘nicode €', '""', ' spaces '],
]

test('rows come back as they were, whatever their text', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'shuntyard-archive-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'rows.csv.gz')
  // More than one chunk, with fields that lie across two.
  const long = Array.from({ length: 3_000 }, (_, index) => [
    `"${'€'.repeat(index % 97)}"`,
    String(index),
    null,
  ])
  async function* batches() {
    yield ODD
    yield long
  }
  const written = await writeRows(path, ['a', 'b', 'c'], batches())
  const read = { bytes: 0, sha256: '' }
  const rows: ArchivedRow[] = []
  for await (const row of readRows(path, read)) rows.push(row)
  expect(rows).toEqual([...ODD, ...long])
  expect({ rows: rows.length, ...read }).toEqual(written)
})
