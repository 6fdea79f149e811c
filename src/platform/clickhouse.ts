/** The part of ClickHouse's HTTP interface that the gateway uses. */
export type ClickHouse = ReturnType<typeof createClickHouse>

/** Values of `{name:Type}` in a statement. */
type Parameters = Record<string, string | number | readonly number[]>

const TIMEOUT_MS = 30_000
/** Not part of a message of ours: an error of ClickHouse repeats the statement. */
const ERROR_CHARACTERS = 300

/**
 * A client of the server and database that `http://user:password@host:8123/database` names. Each method is one request, and
 * rejects when the server is away, takes more than 30 s, or rejects the statement.
 */
export function createClickHouse(address: string) {
  const url = new URL(address)
  const headers = {
    'x-clickhouse-user': decodeURIComponent(url.username) || 'default',
    'x-clickhouse-key': decodeURIComponent(url.password),
  }
  const database = decodeURIComponent(url.pathname.slice(1)) || 'default'

  const send = async (settings: Record<string, string>, body: string): Promise<string> => {
    const query = new URLSearchParams({ database, wait_end_of_query: '1', ...settings })
    const response = await fetch(`${url.protocol}//${url.host}/?${query}`, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    if (!response.ok)
      throw new Error(`ClickHouse responded with ${response.status}: ${text.slice(0, ERROR_CHARACTERS)}`)
    return text
  }
  return {
    /** Runs a statement without a result. */
    run: async (statement: string): Promise<void> => void (await send({}, statement)),

    /** The rows of a SELECT. 64-bit integers are returned as JSON numbers: select larger ones by `toString`. */
    async select<Row extends object>(statement: string, parameters: Parameters = {}): Promise<Row[]> {
      const values = Object.entries(parameters).map(([name, value]) => [
        `param_${name}`,
        typeof value === 'object' ? `[${value.join(',')}]` : String(value),
      ])
      const settings = { output_format_json_quote_64bit_integers: '0', ...Object.fromEntries(values) }
      const text = await send(settings, `${statement} FORMAT JSONEachRow`)
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Row)
    },

    /** Inserts rows by the names of their columns. */
    async insert(table: string, rows: readonly object[]): Promise<void> {
      const query = `INSERT INTO ${table} FORMAT JSONEachRow`
      await send({ query }, rows.map((row) => JSON.stringify(row)).join('\n'))
    },
  }
}
