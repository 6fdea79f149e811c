import { expect, test } from 'vitest'
import { createSlots } from '../../src/http/slots.ts'

const MESSAGES = { holderIsFull: 'You have one.', allTaken: 'All are taken.' }

test('a holder beyond its share is refused with 429, anyone beyond all slots with 503, each in the words of the caller', () => {
  const slots = createSlots({ max: 2, maxPerHolder: 1, ...MESSAGES })
  const giveBack = slots.take('one')
  expect(() => slots.take('one')).toThrow(
    expect.objectContaining({ status: 429, message: MESSAGES.holderIsFull }),
  )
  slots.take('other')
  expect(() => slots.take('third')).toThrow(
    expect.objectContaining({ status: 503, message: MESSAGES.allTaken }),
  )
  giveBack()
  giveBack()
  slots.take('one')
  expect(() => slots.take('third')).toThrow('All are taken.')
})

test('work gives its slot back when it fails', async () => {
  const slots = createSlots({ max: 1, allTaken: MESSAGES.allTaken })
  await expect(slots.run('one', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await slots.run('one', async () => 7)).toBe(7)
})

test('holders that have many leave slots to those that have none', () => {
  const slots = createSlots({ max: 16, allTaken: MESSAGES.allTaken })
  for (const holder of ['one', 'two', 'three']) {
    expect(() => {
      for (;;) slots.take(holder)
    }).toThrow(MESSAGES.allTaken)
  }
  slots.take('quiet')
})
