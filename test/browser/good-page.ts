import { expect } from 'vitest'
import { expectAccessibleAtBothWidths } from './accessibility.ts'
import type { WatchedPage } from './browser.ts'
import { expectToFit, heading, untilLoaded, visit } from './on-screen.ts'
import { expectAsPictured } from './page-outline.ts'
import { pictureOf } from './pictures.ts'
import { expectWholeFigures } from './whole-figures.ts'

/** Opens a page and looks at it at both widths and in both themes, at its figures, and at what it asked for. */
export async function expectGoodPage(
  { page, watch }: WatchedPage,
  url: string,
  title: string,
): Promise<void> {
  await visit(page, url)
  await heading(page, title).waitFor()
  await untilLoaded(page)
  await expectAccessibleAtBothWidths(page, () => expectToFit(page))
  await expectWholeFigures(page)
  const picture = pictureOf(page.url())
  if (picture) await expectAsPictured(page, picture.name)
  expect(watch.problems, url).toEqual([])
}
