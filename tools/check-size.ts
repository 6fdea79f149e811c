import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A part of `npm run check`: no area of the repository has more lines than its ceiling in .ci/size.json. A change that needs
 * more raises the ceiling in the same commit, and says in its body why.
 */

const ROOT = join(import.meta.dirname, '..')
const CEILINGS = '.ci/size.json'
/** What people read. Data such as the built-in catalog does not count. */
const COUNTED = /^(?:(?:src|workers|web|tools|test)\/.*\.(?:ts|tsx|mjs|lua|css)|docs\/.*\.md)$/

type Lines = Record<string, number>

/** The area of a file: a first-level folder of src, or one of the other top folders. Null: it does not count. */
export function areaOf(path: string): string | null {
  if (!COUNTED.test(path)) return null
  const [top, folder, ...rest] = path.split('/')
  return top === 'src' && rest.length > 0 ? `src/${folder}` : top!
}

/** What is wrong with each area that is above its ceiling, or has none. */
export const problemsOf = (lines: Lines, ceilings: Lines): string[] =>
  Object.entries(lines)
    .filter(([area, count]) => count > (ceilings[area] ?? 0))
    .map(
      ([area, count]) => `${area} has ${count} lines, and ${ceilings[area] ?? 'no ceiling'} in ${CEILINGS}`,
    )

function countLines(): Lines {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate']
  const paths = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\n')
  const lines: Lines = {}
  for (const path of paths) {
    const area = areaOf(path)
    if (area !== null) lines[area] = (lines[area] ?? 0) + linesOf(join(ROOT, path))
  }
  return lines
}

/** A file that is deleted, and not committed yet, has none. */
function linesOf(path: string): number {
  try {
    return readFileSync(path, 'utf8').split('\n').length - 1
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

if (import.meta.main) {
  const problems = problemsOf(countLines(), JSON.parse(readFileSync(join(ROOT, CEILINGS), 'utf8')) as Lines)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
