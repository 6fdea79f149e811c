import assert from 'node:assert/strict'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'

const TURNS = 5
/** A simulated model calls a tool once for each mention. */
const PROMPT = 'Use add, then add, then add, then add, then add.'

/**
 * Runs a loop of tools of five turns with the AI SDK, whole and streamed. Rejects if a call or a result is lost.
 * @param baseUrl of the extended contract, such as `http://127.0.0.1:8080/v2`
 * @param model a model of the gateway that calls tools as simulated providers do
 */
export async function runAiSdkLoop(baseUrl: string, key: string, model: string): Promise<void> {
  const provider = createOpenAICompatible({
    name: 'switchyard',
    baseURL: baseUrl,
    apiKey: key,
    includeUsage: true,
  })
  for (const generate of [generateText, streamText]) {
    let calls = 0
    const add = tool({
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async () => `result ${++calls}`,
    })
    const asked = { model: provider(model), prompt: PROMPT, tools: { add }, stopWhen: isStepCount(TURNS + 2) }
    const { text, totalUsage } = await generate(asked)
    assert.match(await text, /result 1; result 2; result 3; result 4; result 5/)
    assert.equal(calls, TURNS)
    assert.ok(((await totalUsage).outputTokens ?? 0) > TURNS)
  }
}
