const AMOUNT = /^\d{1,7}(\.\d{1,12})?$/

const isZero = (text: string): boolean => !/[1-9]/.test(text)

/** What is wrong with an amount to give an account; null when nothing is. */
export const creditProblem = (text: string): string | null =>
  AMOUNT.test(text.trim()) && !isZero(text) ? null : 'Enter an amount above zero, such as 5.00.'

/** What is wrong with a change of a balance, up or down; null when nothing is. */
export const changeProblem = (text: string): string | null =>
  AMOUNT.test(text.trim().replace(/^-/, '')) && !isZero(text)
    ? null
    : 'Enter an amount such as 5.00 or -5.00.'
