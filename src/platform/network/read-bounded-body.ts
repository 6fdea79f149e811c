/**
 * Reads the body of a response as UTF-8. Rejects as soon as it exceeds `maxBytes`; the rest is not read.
 * @param source name of the sender, for the error message
 */
export async function readBoundedBody(response: Response, maxBytes: number, source: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new Error(`the response of ${source} exceeds ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
