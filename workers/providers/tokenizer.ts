import { Worker } from 'node:worker_threads'

interface Waiting {
  resolve: (tokens: number) => void
  reject: (error: Error) => void
}

const THREAD = new URL('./tokenizer-thread.ts', import.meta.url)

/** Counts texts in a thread that starts with the first of them: many workers never need one. */
class Tokenizer {
  #thread: Worker | null = null
  #waiting = new Map<number, Waiting>()
  #next = 0

  /** Tokens of a text in the o200k_base vocabulary. Rejects when the thread dies; the next count starts another. */
  count(text: string): Promise<number> {
    this.#thread ??= this.#start()
    const thread = this.#thread
    return new Promise((resolve, reject) => {
      const id = this.#next++
      this.#waiting.set(id, { resolve, reject })
      thread.ref()
      thread.postMessage({ id, text })
    })
  }

  #start(): Worker {
    const thread = new Worker(THREAD)
    thread.on('message', ({ id, tokens }: { id: number; tokens: number }) => {
      this.#waiting.get(id)?.resolve(tokens)
      this.#waiting.delete(id)
      // An idle tokenizer does not keep its process alive.
      if (this.#waiting.size === 0) thread.unref()
    })
    thread.on('error', (error) => this.#end(error))
    thread.on('exit', () => this.#end(new Error('the tokenizer thread ended')))
    return thread
  }

  #end(error: Error): void {
    this.#thread = null
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

/** The one tokenizer of this process. */
export const tokenizer = new Tokenizer()
