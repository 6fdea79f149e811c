import type { AgentId } from '../../../src/core/api/agent-settings.ts'

/** The task: a sum that subtracts is corrected, and its test runs. */
export const SOURCE_FILE = 'sum.mjs'
export const TEST_FILE = 'sum.test.mjs'
export const WRONG = 'a - b'
export const RIGHT = 'a + b'
const TEST_COMMAND = `node ${TEST_FILE}`

/** A command-line agent as the gate runs it, after the setup that its guide shows. */
export interface CodingAgent {
  id: AgentId
  /** Of npm, or of PyPI. */
  package: { registry: 'npm' | 'pypi'; name: string; version: string }
  /** The shell command; the prompt is its input, or `$PROMPT`, and the model `$MODEL`. */
  command: string
  /** What keeps a run without a terminal, updates and data of its own; nothing that points it anywhere. */
  env?: Record<string, string>
  /** A shell line that ends what it leaves running. */
  after?: string
  /** What the prompt holds for the simulated model: calls of the agent's tools, or an edit as text. */
  script: (folder: string) => string
  /** How it uses the MCP server `gate`, whose parts are in `$MCP_SERVER`, and as JSON in `$MCP_JSON`. Absent: it has none. */
  mcp?: {
    /** Shell lines that make the server known, before the command. */
    setup?: string
    /** The call that has its tools loaded, which a resumed session may need again. Absent: they are there. */
    search?: string
    /** The name of a tool of it, for the model. */
    tool: (name: string) => string
    /** The tool of the agent that calls it by its name. Absent: the model does. */
    by?: string
    /** The shell command that goes on with an interrupted session. */
    resume: string
    /** What the script of the agent itself records. */
    records?: readonly string[]
  }
}

/**
 * A script of ten turns with the tools of the MCP server before and after those of the agent: two calls at once, one that fails,
 * and one in whose middle the agent is interrupted.
 */
export function withMcp(script: string, { search, tool, by }: NonNullable<CodingAgent['mcp']>): string {
  const ask = (name: string, text: string) =>
    by ? call(by, { name: tool(name), arguments: { text } }) : call(tool(name), { text })
  const record = (text: string) => ask('record', text)
  const before = [record('one'), record('two'), `+ ${record('three')}`, ask('refuse', 'no')]
  return [search ?? [], before, record('wait'), search ?? [], script, record('four'), record('five')]
    .flat()
    .join('\n')
}
/** What is recorded in any case; `wait` may be recorded twice. */
export const RECORDED = ['one', 'two', 'three', 'wait', 'four', 'five']

const call = (tool: string, input: object): string => `${tool}(${JSON.stringify(input)})`

/** Instead of its vendor's address, so that it does not wait for what cannot be reached. */
const NOWHERE = 'http://127.0.0.1:9'
const CLAUDE_OPTIONS =
  '--permission-mode acceptEdits --allowedTools Bash,WebSearch,mcp__gate__record,mcp__gate__refuse --mcp-config "$MCP_JSON" < /dev/null'
/** A subagent of Claude Code that records a text with the shell. */
const subagent = (text: string): string =>
  call('Agent', {
    description: `Record ${text}`,
    prompt: `Record it.\n${call('Bash', { command: `echo ${text} >> "$MCP_RECORD"`, description: 'Record' })}\nThen stop.`,
    subagent_type: 'general-purpose',
  })

const CODEX_OPTIONS = '--dangerously-bypass-approvals-and-sandbox'

export const CODING_AGENTS: readonly CodingAgent[] = [
  {
    id: 'claude-code',
    package: { registry: 'npm', name: '@anthropic-ai/claude-code', version: '2.1.332' },
    command: `claude -p "$PROMPT" ${CLAUDE_OPTIONS}`,
    mcp: {
      search: call('ToolSearch', {
        query: 'select:mcp__gate__record,mcp__gate__refuse,WebSearch',
        max_results: 3,
      }),
      tool: (name) => `mcp__gate__${name}`,
      resume: `claude -p 'Go on.' --continue ${CLAUDE_OPTIONS}`,
      records: ['six', 'seven'],
    },
    env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    script: (folder) =>
      [
        call('Read', { file_path: `${folder}/${SOURCE_FILE}` }),
        call('Edit', { file_path: `${folder}/${SOURCE_FILE}`, old_string: WRONG, new_string: RIGHT }),
        call('Bash', { command: TEST_COMMAND, description: 'Run the test' }),
        call('WebSearch', { query: 'How sums are added' }),
        subagent('six'),
        `+ ${subagent('seven')}`,
      ].join('\n'),
  },
  {
    id: 'codex',
    package: { registry: 'npm', name: '@openai/codex', version: '0.171.0' },
    command: `codex exec ${CODEX_OPTIONS} "$PROMPT" < /dev/null`,
    mcp: {
      setup: `printf '\\n[mcp_servers.gate]\\ncommand = "node"\\nargs = ["%s", "%s"]\\n' "$MCP_SERVER" "$MCP_RECORD" >> ~/.codex/config.toml`,
      tool: (name) => `mcp__gate__${name}`,
      resume: `codex exec resume --last ${CODEX_OPTIONS} 'Go on.' < /dev/null`,
    },
    script: () =>
      [`cat ${SOURCE_FILE}`, `sed -i 's/${WRONG}/${RIGHT}/' ${SOURCE_FILE}`, TEST_COMMAND]
        .map((cmd) => call('exec_command', { cmd }))
        .join('\n'),
  },
  {
    id: 'opencode',
    package: { registry: 'npm', name: 'opencode-ai', version: '1.18.33' },
    command: 'printf %s "$PROMPT" | opencode run',
    mcp: {
      setup: `printf '{"mcp":{"gate":{"type":"local","command":["node","%s","%s"]}}}' "$MCP_SERVER" "$MCP_RECORD" > opencode.json`,
      tool: (name) => `gate_${name}`,
      resume: "opencode run --continue 'Go on.' < /dev/null",
    },
    env: { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' },
    script: (folder) =>
      [
        call('read', { filePath: `${folder}/${SOURCE_FILE}` }),
        call('edit', { filePath: `${folder}/${SOURCE_FILE}`, oldString: WRONG, newString: RIGHT }),
        call('bash', { command: TEST_COMMAND, description: 'Run the test' }),
      ].join('\n'),
  },
  {
    id: 'qwen-code',
    package: { registry: 'npm', name: '@qwen-code/qwen-code', version: '0.24.4' },
    command: 'qwen --auth-type openai --yolo "$PROMPT" < /dev/null',
    mcp: {
      setup: 'mkdir -p ~/.qwen\nprintf %s "$MCP_JSON" > ~/.qwen/settings.json',
      search: call('tool_search', { query: 'select:mcp__gate__record,mcp__gate__refuse' }),
      tool: (name) => `mcp__gate__${name}`,
      by: 'tool_call',
      resume: "qwen --auth-type openai --yolo --continue 'Go on.' < /dev/null",
    },
    script: (folder) =>
      [
        call('read_file', { file_path: `${folder}/${SOURCE_FILE}` }),
        call('edit', { file_path: `${folder}/${SOURCE_FILE}`, old_string: WRONG, new_string: RIGHT }),
        call('run_shell_command', { command: TEST_COMMAND, is_background: false }),
      ].join('\n'),
  },
  {
    id: 'aider',
    package: { registry: 'pypi', name: 'aider-chat', version: '0.86.2' },
    command: `aider --no-check-update --no-show-model-warnings --analytics-disable --yes-always --no-gitignore \
--edit-format diff --auto-test --test-cmd "${TEST_COMMAND}" --message "$PROMPT" ${SOURCE_FILE} < /dev/null`,
    script: () =>
      `\n${SOURCE_FILE}\n<<<<<<< SEARCH\nexport const sum = (a, b) => ${WRONG}\n=======
export const sum = (a, b) => ${RIGHT}\n>>>>>>> REPLACE\n`,
  },
  {
    id: 'pi',
    package: { registry: 'npm', name: '@earendil-works/pi-coding-agent', version: '1.6.0' },
    command: 'pi --provider shuntyard --model "$MODEL" --print "$PROMPT" < /dev/null',
    mcp: {
      setup: `printf %s "$MCP_JSON" | sed 's/"args"/"exposure":"deferred","args"/' > ~/.pi/agent/mcp.json`,
      search: call('tool_search', { query: 'record refuse' }),
      tool: (name) => `mcp__gate__${name}`,
      resume: 'pi --provider shuntyard --model "$MODEL" --continue --print "Go on." < /dev/null',
    },
    env: { PI_OFFLINE: '1' },
    script: () =>
      [
        call('read', { path: SOURCE_FILE }),
        call('edit', { path: SOURCE_FILE, edits: [{ oldText: WRONG, newText: RIGHT }] }),
        call('bash', { command: TEST_COMMAND }),
      ].join('\n'),
  },
  {
    id: 'cline',
    package: { registry: 'npm', name: 'cline', version: '3.0.65' },
    command: 'cline "$PROMPT" < /dev/null',
    mcp: {
      setup: 'cline mcp install gate --yes -- node "$MCP_SERVER" "$MCP_RECORD"',
      tool: (name) => `gate__${name}`,
      // It resumes a session in a terminal only.
      resume: 'cline "$PROMPT" < /dev/null',
    },
    env: { CLINE_API_BASE_URL: NOWHERE },
    after: `kill "$(sed -n 's/.*"pid": \\([0-9]*\\).*/\\1/p' ~/.cline/data/locks/hub/production.json)"`,
    script: (folder) =>
      [
        call('read_files', { files: [{ path: `${folder}/${SOURCE_FILE}` }] }),
        call('editor', { path: `${folder}/${SOURCE_FILE}`, old_text: WRONG, new_text: RIGHT }),
        call('run_commands', { commands: [TEST_COMMAND] }),
      ].join('\n'),
  },
]

/** Agents that the gate does not run. */
export const AGENTS_NOT_RUN = [
  {
    name: 'Gemini CLI',
    package: '@google/gemini-cli 0.61.0',
    reason: 'it speaks generateContent only, a surface that the gateway does not serve',
  },
  {
    name: 'Kilo',
    package: '@kilocode/cli 7.7.7',
    reason: 'it waits minutes for its vendor’s network before each task',
  },
  { name: 'Goose', package: 'none', reason: 'npm and PyPI have libraries of it, and not its program' },
] as const
