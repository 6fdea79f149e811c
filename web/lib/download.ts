/** What came of a download so far. */
export interface DownloadProgress {
  /** Lines after the first. */
  rows: number
  bytes: number
}

const [CR, LF] = [13, 10]

/** Reads a CSV response to its end. Reports after each part; rows are counted by their line ends, `\r\n`. */
export async function readCsv(
  response: Response,
  onProgress: (progress: DownloadProgress) => void,
): Promise<DownloadProgress & { file: Blob }> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let [lines, bytes, last] = [0, 0, 0]
  const reader = response.body!.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (const byte of part.value) {
      if (byte === LF && last === CR) lines += 1
      last = byte
    }
    bytes += part.value.length
    parts.push(part.value)
    onProgress({ rows: Math.max(0, lines - 1), bytes })
  }
  return { rows: Math.max(0, lines - 1), bytes, file: new Blob(parts, { type: 'text/csv' }) }
}

/** The name of an export: its parts in order, in letters that every file system takes. */
export const exportName = (...parts: ReadonlyArray<string | undefined>): string =>
  `${parts
    .flatMap(
      (part) =>
        part
          ?.toLowerCase()
          .replaceAll(/[^a-z0-9.]+/g, '-')
          .replaceAll(/^-|-$/g, '') || [],
    )
    .join('-')
    .slice(0, 120)}.csv`

/** A size for people: `512 B`, `2.8 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
