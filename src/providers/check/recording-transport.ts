import { StringDecoder } from 'node:string_decoder'
import type { Exchange, ResponseReceiver, TransportRequest } from '../http/exchange.ts'
import type { Transport } from '../provider-clients.ts'

/** One request and its response as they were sent; without headers, which have the key. */
export interface RecordedExchange {
  url: string
  /** JSON as it was sent; empty for a form. */
  request: string
  /** 0: there was none. */
  status: number
  contentType: string
  text: string
}

/** A transport that keeps what passes through it, in `exchanges`. */
export function recordingTransport(
  transport: Pick<Transport, 'post'>,
  exchanges: RecordedExchange[],
): Pick<Transport, 'post'> {
  return {
    post(request: TransportRequest, receive: (exchange: Exchange) => ResponseReceiver): void {
      const { url, body } = request
      const kept: RecordedExchange = {
        ...{ url, request: typeof body === 'string' || Buffer.isBuffer(body) ? String(body) : '' },
        ...{ status: 0, contentType: '', text: '' },
      }
      exchanges.push(kept)
      transport.post(request, (exchange) => {
        const receiver = receive(exchange)
        const decoder = new StringDecoder('utf8')
        return {
          head(status, headers) {
            Object.assign(kept, { status, contentType: String(headers['content-type'] ?? '') })
            receiver.head(status, headers)
          },
          data(chunk) {
            kept.text += decoder.write(chunk)
            receiver.data(chunk)
          },
          end: () => receiver.end(),
          failure: (failure) => receiver.failure(failure),
          crash: (error) => receiver.crash(error),
        }
      })
    },
  }
}
