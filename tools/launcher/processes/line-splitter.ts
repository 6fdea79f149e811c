const LONGEST_LINE_CHARACTERS = 64 * 1024

/** Turns chunks of bytes into lines. A character or a line may be cut anywhere between two chunks. */
export function createLineSplitter(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new TextDecoder()
  let rest = ''
  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = (lines.pop() ?? '').slice(-LONGEST_LINE_CHARACTERS)
    for (const line of lines) onLine(line)
  }
}
