import { expect, test } from 'vitest'
import { areaOf, problemsOf } from '../../tools/check-size.ts'

test('a file counts for the first folder of src, or for the top folder that it is in', () => {
  const paths = ['src/http/a/b.ts', 'src/config.ts', 'workers/x.ts', 'web/pages/p.tsx', 'src/calls/s.lua']
  expect(paths.map(areaOf)).toEqual(['src/http', 'src', 'workers', 'web', 'src/calls'])
  expect(['src/catalog/data/models.json', 'docs/picture.png', 'package.json'].map(areaOf)).toEqual([
    null,
    null,
    null,
  ])
})

test('an area above its ceiling, and one without a ceiling, fails the check by name', () => {
  const problems = problemsOf({ 'src/http': 101, web: 5, 'src/new': 1 }, { 'src/http': 100, web: 5 })
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual(['src/http', 'src/new'])
})
