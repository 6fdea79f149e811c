import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readSdkEvidence, SDK_ROWS, SDKS_PAGE, withSdkTable } from './sdk-evidence.ts'
import { NODE_SDKS, PYTHON_SDKS } from './sdk-packages.ts'

const EVIDENCE = readSdkEvidence()

test('the table of libraries in the docs says what the last run of the gate found', () => {
  const page = readFileSync(SDKS_PAGE, 'utf8')
  expect(page).toBe(withSdkTable(page, EVIDENCE))
})

test('the evidence is of the libraries and versions that the gate installs, with every row', () => {
  const pinned = {
    ...Object.fromEntries(NODE_SDKS.names.map((name) => [name, NODE_SDKS.versions[name]])),
    ...Object.fromEntries(
      PYTHON_SDKS.map(({ name, versions }) => [`${name} for Python`, Object.values(versions)[0]]),
    ),
  }
  const found = Object.entries(EVIDENCE).map(([name, { version }]) => [name, version])
  expect(Object.fromEntries(found)).toEqual(pinned)
  for (const { outcomes } of Object.values(EVIDENCE)) expect(Object.keys(outcomes)).toEqual([...SDK_ROWS])
})
