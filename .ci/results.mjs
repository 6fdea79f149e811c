/**
 * Reads vitest's JSON reports. `failed REPORT` prints the files with a test that failed, a line each.
 * `sum REPORT [SECOND]` prints "N passed, N failed", where SECOND holds what came of the failed files when they ran
 * again; tests that passed only then are named. CHECK_CODE and TEST_CODE: how the checks and the last run ended.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const [command, ...paths] = process.argv.slice(2)
const [first, second = []] = paths.map(readReport)

if (command === 'failed') for (const { name } of first.filter(hasFailed)) console.log(relative('.', name))
if (command === 'sum') sum()

function readReport(path) {
  const text = readFileSync(path, 'utf8')
  return text === '' ? [] : JSON.parse(text).testResults
}

function hasFailed(file) {
  return file.status === 'failed'
}

function sum() {
  const repeated = new Map(second.map((file) => [file.name, file]))
  const failedAtFirst = new Set(first.filter(hasFailed).flatMap(failuresIn))
  const files = first.map((file) => repeated.get(file.name) ?? file)
  const stillFailing = new Set(files.flatMap(failuresIn))
  for (const test of failedAtFirst)
    if (!stillFailing.has(test)) console.log(`flaky, passed when run again alone: ${test}`)

  const passed = files
    .flatMap((file) => file.assertionResults)
    .filter(({ status }) => status === 'passed').length
  let failed = stillFailing.size
  // The checks count as one more test when they fail, as does a run that broke off.
  if (process.env.CHECK_CODE !== '0') failed += 1
  if (process.env.TEST_CODE !== '0' && failed === 0) failed = 1
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
}

/** Names of the tests of a file that failed. A file that could not even be loaded counts as one. */
function failuresIn(file) {
  const failed = file.assertionResults.filter(({ status }) => status === 'failed')
  const path = relative('.', file.name)
  if (hasFailed(file) && failed.length === 0) return [path]
  return failed.map(({ fullName }) => `${path}: ${fullName}`)
}
