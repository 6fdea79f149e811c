import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import PDFDocument from 'pdfkit'

type Weight = 400 | 700

/**
 * Inter, as published for the web: one font file for each part of Unicode. The first that has a character is used. It
 * is licensed under the SIL Open Font License 1.1.
 */
const PARTS = ['latin', 'latin-ext', 'greek', 'greek-ext', 'cyrillic', 'cyrillic-ext', 'vietnamese'] as const
type FontName = `${(typeof PARTS)[number]}-${Weight}`

/** The part of pdfkit's interface of an embedded font that is used here. */
interface EmbeddedFont {
  font: { hasGlyphForCodePoint(codePoint: number): boolean }
}

const FOLDER = join(dirname(fileURLToPath(import.meta.resolve('@fontsource/inter/package.json'))), 'files')
const files = new Map<FontName, Buffer>()

/** Read once by each thread. */
function fontFile(name: FontName): Buffer {
  const known = files.get(name)
  if (known) return known
  const [, part = '', weight = ''] = /^(.*)-(\d+)$/.exec(name) ?? []
  const file = readFileSync(join(FOLDER, `inter-${part}-${weight}-normal.woff`))
  files.set(name, file)
  return file
}

/** Shown for a character that no font has. */
const UNKNOWN = '?'

export interface TextStyle {
  size: number
  weight?: Weight
  color?: string
}

/** Places text on the pages of a PDF. Coordinates are points from the top left. */
export interface PdfText {
  readonly document: PDFKit.PDFDocument
  width(text: string, style: TextStyle): number
  /** Writes a line. With `right` it ends at x. */
  line(text: string, x: number, y: number, style: TextStyle & { right?: boolean }): void
  /** Breaks a text into lines of a width, at spaces or within a word that is too long. */
  wrap(text: string, width: number, style: TextStyle): string[]
  /** Ends the document and returns its bytes. */
  end(): Promise<Buffer>
}

/** Creates an empty A4 document with Inter for every script that it supports. */
export function createPdfText(info: { title: string; author: string; createdAt: Date }): PdfText {
  const document = new PDFDocument({
    size: 'A4',
    margin: 0,
    lang: 'en',
    displayTitle: true,
    info: { Title: info.title, Author: info.author, CreationDate: info.createdAt },
  })
  const chunks: Buffer[] = []
  document.on('data', (chunk: Buffer) => void chunks.push(chunk))
  const ended = new Promise<void>((done, fail) => document.once('end', done).once('error', fail))
  const registered = new Set<FontName>()
  const use = (name: FontName): EmbeddedFont => {
    if (!registered.has(name)) {
      document.registerFont(name, fontFile(name))
      registered.add(name)
    }
    document.font(name)
    return (document as unknown as { _font: EmbeddedFont })._font
  }
  const fontOf = (character: string, weight: Weight): FontName | null =>
    PARTS.map((part): FontName => `${part}-${weight}`).find((name) =>
      use(name).font.hasGlyphForCodePoint(character.codePointAt(0) ?? 0),
    ) ?? null
  /** Splits a text into runs of one font. */
  const runs = (text: string, { size, weight = 400 }: TextStyle) => {
    const found: Array<{ font: FontName; text: string }> = []
    for (const character of text.normalize('NFC')) {
      const font = fontOf(character, weight)
      const shown = font === null ? UNKNOWN : character
      const last = found.at(-1)
      if (last && last.font === (font ?? last.font)) last.text += shown
      else found.push({ font: font ?? `latin-${weight}`, text: shown })
    }
    return found.map((run) => {
      use(run.font)
      return { ...run, width: document.fontSize(size).widthOfString(run.text) }
    })
  }
  const width = (text: string, style: TextStyle) => runs(text, style).reduce((sum, run) => sum + run.width, 0)

  return {
    document,
    width,
    line(text, x, y, { right = false, ...style }) {
      let left = right ? x - width(text, style) : x
      for (const run of runs(text, style)) {
        use(run.font)
        document.fontSize(style.size).fillColor(style.color ?? '#111111')
        document.text(run.text, left, y, { lineBreak: false })
        left += run.width
      }
    },
    wrap(text, max, style) {
      const lines: string[] = []
      let current = ''
      const add = (word: string) => {
        const longer = current === '' ? word : `${current} ${word}`
        if (width(longer, style) <= max) {
          current = longer
          return
        }
        if (current !== '') lines.push(current)
        current = ''
        for (const character of word) {
          if (current !== '' && width(current + character, style) > max) {
            lines.push(current)
            current = ''
          }
          current += character
        }
      }
      for (const word of text.split(/\s+/).filter(Boolean)) add(word)
      if (current !== '') lines.push(current)
      return lines
    },
    async end() {
      document.end()
      await ended
      return Buffer.concat(chunks)
    },
  }
}
