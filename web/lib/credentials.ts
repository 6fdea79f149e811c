const PASSWORD_MIN = 10
const PASSWORD_MAX = 256

/** What is wrong with an e-mail address at first sight; null when nothing is. The gateway has the last word. */
export function emailProblem(email: string): string | null {
  if (email.trim() === '') return 'Enter your e-mail address.'
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email.trim())
    ? null
    : 'This is no e-mail address, such as ann@example.com.'
}

/** What is wrong with a new password; null when nothing is. */
export function newPasswordProblem(password: string): string | null {
  const { length } = [...password]
  if (length < PASSWORD_MIN) return `Use at least ${PASSWORD_MIN} characters; this has ${length}.`
  return length > PASSWORD_MAX ? `Use at most ${PASSWORD_MAX} characters.` : null
}
