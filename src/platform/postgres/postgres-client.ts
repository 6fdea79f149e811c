import { Client, type ClientConfig } from 'pg'

/** Beyond the statement timeout, which the server keeps: it may be gone without a word, and its timeout with it. */
export const ANSWER_SLACK_MS = 1_000

/** What pg says when `query_timeout` is over. */
const OVERDUE = 'Query read timeout'

/**
 * A connection that is given up once a statement was not answered in time. pg would use it further, and everything
 * that is sent over it later, a rollback too, would wait behind that statement.
 */
export class BoundedClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config)
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    this.query = ((...args: unknown[]) => {
      const answer = query(...args)
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#giveUpOn(error))
      return answer
    }) as typeof this.query
  }

  #giveUpOn(error: unknown): void {
    if (!(error instanceof Error) || error.message !== OVERDUE) return
    const { connection } = this as unknown as { connection: { stream: { destroy(): void } } }
    connection.stream.destroy()
  }
}
