/** How often a line is written where the output is not a terminal. */
const LINE_EVERY_MS = 5000
const TICK_MS = 250

/**
 * Shows that a long step is alive: one line that counts on a terminal, a line every few seconds elsewhere.
 * Written to standard error, so that a command's own output stays clean.
 * @template T
 * @param {string} label
 * @param {() => Promise<T>} step
 * @returns {Promise<T>}
 */
export async function withProgress(label, step) {
  const { stderr } = process
  const startedAt = Date.now()
  const line = () => `  ${label} … ${Math.round((Date.now() - startedAt) / 1000)} s`
  if (!stderr.isTTY) stderr.write(`  ${label} …\n`)
  const timer = stderr.isTTY
    ? setInterval(() => stderr.write(`\r\u001b[2K${line()}`), TICK_MS)
    : setInterval(() => stderr.write(`${line()}\n`), LINE_EVERY_MS)
  const clear = stderr.isTTY ? '\r\u001b[2K' : ''
  try {
    const result = await step()
    stderr.write(`${clear}  ${label}: done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`)
    return result
  } catch (error) {
    stderr.write(`${clear}  ${label}: failed\n`)
    throw error
  } finally {
    clearInterval(timer)
  }
}
