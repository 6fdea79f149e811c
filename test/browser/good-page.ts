import { expect } from 'vitest'
import { expectAccessible } from './accessibility.ts'
import { NARROW, type WatchedPage, WIDE } from './browser.ts'
import { expectToFit, heading, untilLoaded } from './on-screen.ts'
import { expectAsPictured } from './page-outline.ts'
import { pictureOf } from './pictures.ts'
import { expectWholeFigures } from './whole-figures.ts'

/** Opens a page and looks at it at both widths and in both themes, at its figures, and at what it asked for. */
export async function expectGoodPage(
  { page, watch }: WatchedPage,
  url: string,
  title: string,
): Promise<void> {
  await page.goto(url)
  await heading(page, title).waitFor()
  await untilLoaded(page)
  for (const viewport of [NARROW, WIDE]) {
    await page.setViewportSize(viewport)
    await expectToFit(page)
    await expectAccessible(page)
  }
  await expectWholeFigures(page)
  const picture = pictureOf(page.url())
  if (picture) await expectAsPictured(page, picture.name)
  expect(watch.problems, url).toEqual([])
}
