import { expect } from 'vitest'
import type { TestStack } from './stack.ts'

/** An operator at /admin/api with an admin key. */
export interface AdminClient {
  /** The raw answer. */
  send(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Response>
  /** The JSON of an answer that must be a success. */
  get<T>(path: string): Promise<T>
  post<T>(path: string, body?: unknown): Promise<T>
}

export function adminClient(stack: TestStack, key: string): AdminClient {
  const send: AdminClient['send'] = (method, path, body) =>
    fetch(`${stack.url}/admin/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const json = async <T>(answer: Promise<Response>): Promise<T> => {
    const response = await answer
    const text = await response.text()
    expect({ status: response.status, text: response.ok ? '' : text }).toEqual({
      status: expect.toSatisfy((status: number) => status < 300),
      text: '',
    })
    return JSON.parse(text) as T
  }
  return {
    send,
    get: (path) => json(send('GET', path)),
    post: (path, body) => json(send('POST', path, body)),
  }
}
