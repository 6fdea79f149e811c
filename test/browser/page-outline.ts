import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** The pictures of the docs, each with the outline of its page. */
export const PICTURES_FOLDER = resolve(import.meta.dirname, '../../docs/screenshots')

/**
 * The headings and named parts of a page in their order; what stands in lists, tables and disclosures is data, and so is
 * whether a list has further pages.
 */
const OUTLINE = `(() => {
  const partName = (element) => {
    const by = document.getElementById(element.getAttribute('aria-labelledby'))
    return (element.getAttribute('aria-label') ?? by?.textContent ?? '').trim()
  }
  const lines = []
  const visit = (element, depth) => {
    for (const child of element.children) {
      const name = child.tagName.toLowerCase()
      if (['li', 'table', 'details'].includes(name) || child.hidden) continue
      const isPart = ['section', 'aside', 'search'].includes(name)
      const line =
        isPart ? name + ': ' + partName(child)
        : /^h[23]$/.test(name) ? name + ': ' + child.textContent
        // Its text may be the name of a model or an id.
        : name === 'h1' ? 'h1'
        : null
      if (line !== null) lines.push('  '.repeat(depth) + line.trim())
      visit(child, depth + (isPart ? 1 : 0))
    }
  }
  visit(document.querySelector('main'), 0)
  return lines.join('\\n') + '\\n'
})()`

export const outlineOf = async (page: Page): Promise<string> => (await page.evaluate(OUTLINE)) as string

export const outlineFile = (name: string): string => join(PICTURES_FOLDER, `${name}.outline.txt`)

/**
 * Expects the parts of a page that are in its picture. Where they differ on purpose, `npm run console:screenshots`
 * takes the pictures and their outlines again.
 */
export async function expectAsPictured(page: Page, name: string): Promise<void> {
  const pictured = await readFile(outlineFile(name), 'utf8')
  expect(await outlineOf(page), `the parts of ${name}; npm run console:screenshots takes it again`).toBe(
    pictured,
  )
}
