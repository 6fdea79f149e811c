import { extractText, getDocumentProxy, getMeta } from 'unpdf'

/** The text of a PDF as a reader finds it, its number of pages and its title. */
export async function readPdf(bytes: Uint8Array): Promise<{ text: string; pages: number; title: unknown }> {
  const pdf = await getDocumentProxy(new Uint8Array(bytes))
  const { text, totalPages } = await extractText(pdf, { mergePages: true })
  const { info } = await getMeta(pdf)
  return { text: text.replace(/\s+/g, ' '), pages: totalPages, title: info.Title }
}
