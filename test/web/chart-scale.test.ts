import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  axisMarks,
  columnAt,
  columnPlaces,
  lineRuns,
  logMarks,
  nearestPoint,
  stepOf,
} from '../../web/lib/chart-scale.ts'

test.each([
  [1, [0, 0.5, 1]],
  [0.35, [0, 0.1, 0.2, 0.3, 0.4]],
  [4, [0, 1, 2, 3, 4]],
  [321, [0, 100, 200, 300, 400]],
  [0, [0, 0.5, 1]],
])('an axis up to %d has round marks', (largest, marks) => {
  expect(axisMarks(largest)).toEqual(marks)
})

test('whole values have whole marks', () => {
  expect(axisMarks(3, true)).toEqual([0, 1, 2, 3])
})

test('every value is below the last mark, and the marks are few', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), (largest) => {
      const marks = axisMarks(largest)
      expect(marks[0]).toBe(0)
      expect(marks.at(-1)!).toBeGreaterThanOrEqual(largest * (1 - 1e-8))
      expect(marks.length).toBeGreaterThan(2)
      expect(marks.length).toBeLessThan(7)
    }),
  )
})

test('columns stand beside each other within their bounds', () => {
  const { left, width } = columnPlaces(3, 10, 110, 0.25)
  expect(left(0)).toBeGreaterThan(10)
  expect(left(1)).toBeGreaterThan(left(0) + width)
  expect(left(2) + width).toBeLessThan(110)
})

test('the pointer is at the column below it, and beside the columns at the nearest', () => {
  const places = columnPlaces(5, 40, 540, 0.25)
  for (let index = 0; index < 5; index++)
    expect(columnAt(5, 40, 540, places.left(index) + places.width / 2)).toBe(index)
  expect([columnAt(5, 40, 540, -3), columnAt(5, 40, 540, 900)]).toEqual([0, 4])
})

test('a line has a gap where a value is not known, and a point alone is a run of one', () => {
  expect(lineRuns([1, 2, null, null, 3, null])).toEqual([
    [
      [0, 1],
      [1, 2],
    ],
    [[4, 3]],
  ])
  expect(lineRuns([null])).toEqual([])
})

test.each([
  [[0.3, 40], 12, [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]],
  [[0.3, 40], 4, [0.1, 1, 10, 100]],
  [[1, 1], 4, [1, 2, 5, 10]],
])('a logarithmic axis of %j in about %d marks is %j', (values, count, marks) => {
  expect(logMarks(values, count)).toEqual(marks)
})

test('the pointer is at the nearest point, and at none that is far away', () => {
  const points = [
    { x: 10, y: 10 },
    { x: 60, y: 10 },
  ]
  expect([12, 40, 99].map((x) => nearestPoint(points, { x, y: 10 }))).toEqual([0, 1, 1])
  expect(nearestPoint(points, { x: 10, y: 200 })).toBeNull()
})

test('arrow keys move by one from the chosen point, or from the ends, and stay within the points', () => {
  const right = [null, 0, 2].map((chosen) => stepOf('ArrowRight', chosen, 2))
  const left = [null, 2, 0].map((chosen) => stepOf('ArrowLeft', chosen, 2))
  expect([right, left]).toEqual([
    [0, 1, 2],
    [2, 1, 0],
  ])
  expect(['Home', 'End', 'Escape', 'a'].map((key) => stepOf(key, 1, 2))).toEqual([0, 2, null, undefined])
})
