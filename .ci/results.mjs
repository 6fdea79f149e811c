/**
 * Reads vitest's JSON reports and keeps two files beside itself. Runs in the root of the repository.
 *
 * `failed REPORT` prints the files with a test that failed, a line each.
 * `sum REPORT [SECOND]` prints "N passed, N failed", where SECOND is the report of the failed files, run again alone. A
 * file that passed only then is flaky: it is named and added to flaky.json, and counts as failed if it is there
 * already. Files that took much longer than in durations.json are named. CHECK_CODE and TEST_CODE: how the checks and
 * the last run ended.
 * `baseline REPORT` writes durations.json.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

/** File → the date of a run in which it was flaky. Delete a line once its cause is fixed. */
const FLAKY = '.ci/flaky.json'
const FLAKY_DAYS = 30
/** File → seconds from its first test to its last, in a run on a quiet machine. */
const DURATIONS = '.ci/durations.json'
const NOTABLE_SECONDS = 5

const [command, ...paths] = process.argv.slice(2)
const [first, second = []] = paths.map(readReport)

if (command === 'failed') for (const file of first.filter(hasFailed)) console.log(pathOf(file))
if (command === 'sum') sum()
if (command === 'baseline')
  writeJson(DURATIONS, Object.fromEntries(first.map((file) => [pathOf(file), secondsOf(file)])))

function sum() {
  const repeated = new Map(second.map((file) => [file.name, file]))
  const files = first.map((file) => repeated.get(file.name) ?? file)
  reportSlow()
  const flaky = first.filter((file) => hasFailed(file) && !hasFailed(repeated.get(file.name) ?? file))

  const passed = files
    .flatMap((file) => file.assertionResults)
    .filter(({ status }) => status === 'passed').length
  let failed = files.flatMap(failuresIn).length + recordFlaky(flaky)
  // The checks count as one more test when they fail, as does a run that broke off.
  if (process.env.CHECK_CODE !== '0') failed += 1
  if (process.env.TEST_CODE !== '0' && failed === 0) failed = 1
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
}

/** Adds flaky files to the list. Returns how many were on it already. */
function recordFlaky(files) {
  const list = readJson(FLAKY)
  const today = new Date().toISOString().slice(0, 10)
  const oldest = new Date(Date.now() - FLAKY_DAYS * 86_400_000).toISOString().slice(0, 10)
  const isKnown = (file) => list[pathOf(file)] >= oldest
  const known = files.filter(isKnown)
  for (const file of files) {
    console.log(`FLAKY: ${pathOf(file)} failed, and passed when run again alone:`)
    for (const test of failuresIn(file)) console.log(`  ${test}`)
    console.log(
      isKnown(file)
        ? `  It was flaky on ${list[pathOf(file)]} as well (${FLAKY}), so it counts as failed. Fix its cause.`
        : `  This run passes. Commit the line that was added to ${FLAKY}:\n  "${pathOf(file)}": "${today}"`,
    )
  }
  const added = files.filter((file) => !isKnown(file)).map((file) => [pathOf(file), today])
  if (added.length > 0) writeJson(FLAKY, { ...list, ...Object.fromEntries(added) })
  return known.length
}

/** Names the files that took over twice their time, at the speed that the others ran at. */
function reportSlow() {
  const durations = readJson(DURATIONS)
  const known = first.filter((file) => pathOf(file) in durations)
  const total = (of) => known.reduce((seconds, file) => seconds + of(file), 0)
  const factor = total(secondsOf) / total((file) => durations[pathOf(file)])
  for (const file of known) {
    const expected = durations[pathOf(file)] * factor
    const seconds = secondsOf(file)
    if (seconds > 2 * expected && seconds > expected + NOTABLE_SECONDS)
      console.log(
        `slow: ${pathOf(file)} took ${seconds} s, ${expected.toFixed(1)} s at the speed of this run`,
      )
  }
}

/** Names of the tests of a file that failed. A file that could not even be loaded counts as one. */
function failuresIn(file) {
  const failed = file.assertionResults.filter(({ status }) => status === 'failed')
  if (hasFailed(file) && failed.length === 0) return [pathOf(file)]
  return failed.map(({ fullName }) => `${pathOf(file)}: ${fullName}`)
}

function hasFailed(file) {
  return file.status === 'failed'
}

/** Relative to the root. Throws for the report of another clone, whose files no run here would find. */
function pathOf(file) {
  const path = relative('.', file.name)
  if (path.startsWith('..')) throw new Error(`${file.name} is not of this clone`)
  return path
}

function secondsOf(file) {
  return Math.round((file.endTime - file.startTime) / 100) / 10
}

function readReport(path) {
  const text = readFileSync(path, 'utf8')
  return text === '' ? [] : JSON.parse(text).testResults
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function writeJson(path, record) {
  const sorted = Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}
