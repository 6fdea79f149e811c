import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateObject, generateText, Output, streamText, tool } from 'ai'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runAiSdkLoop } from '../gate/checks/agent-loops.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const PROMPT = 'Tell me about rail yards.'
const TRAIN = z.object({ town: z.string(), platform: z.number() })

let provider: ReturnType<typeof createOpenAICompatible>

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/paced': [{ at: 'alpha', model: 'words-2000.rate-40' }],
    'test/failing': [{ at: 'alpha', model: 'status-500' }],
    'test/cut': [{ at: 'alpha', model: 'words-12.cut-after-5' }],
  },
})
const owner = testAccount(stack, '20.00')
beforeAll(() => {
  provider = createOpenAICompatible({
    name: 'shuntyard',
    baseURL: `${stack.url}/v1`,
    apiKey: owner.key,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
})

const findTrain = () =>
  tool({ description: 'Finds a train.', inputSchema: TRAIN, execute: async ({ town }) => `07:04 to ${town}` })

describe('the AI SDK', () => {
  test('runs a loop of tools of five turns, whole and streamed', async () => {
    await runAiSdkLoop(`${stack.url}/v2`, owner.key, 'test/plain')
  })

  test('generates text', async () => {
    const result = await generateText({ model: provider('test/plain'), prompt: PROMPT })
    expect(result.text.split(' ')).toHaveLength(12)
    expect(result.finishReason).toBe('stop')
    expect(result.usage).toMatchObject({ inputTokens: 10, outputTokens: 12 })
    expect(result.response.modelId).toBe('test/plain')
  })

  test('streams text, with usage', async () => {
    const result = streamText({ model: provider('test/plain'), prompt: PROMPT })
    const pieces: string[] = []
    for await (const piece of result.textStream) pieces.push(piece)
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe((await generateText({ model: provider('test/plain'), prompt: PROMPT })).text)
    expect(await result.finishReason).toBe('stop')
    expect(await result.usage).toMatchObject({ inputTokens: 10, outputTokens: 12 })
  })

  test('generates an object that fits its schema', async () => {
    const prompt = 'The train to "Basel" leaves from platform 7.'
    const { object } = await generateObject({ model: provider('test/plain'), schema: TRAIN, prompt })
    expect(object).toEqual({ town: 'Basel', platform: 7 })
    const { output } = await generateText({
      model: provider('test/plain'),
      output: Output.object({ schema: TRAIN }),
      prompt,
    })
    expect(output).toEqual({ town: 'Basel', platform: 7 })
  })

  test('calls a tool on one turn, streamed or not', async () => {
    const prompt = 'Use find_train to "Basel" from platform 7.'
    const tools = { find_train: findTrain() }
    const whole = await generateText({ model: provider('test/plain'), prompt, tools })
    expect(whole.finishReason).toBe('tool-calls')
    expect(whole.toolCalls[0]).toMatchObject({
      toolName: 'find_train',
      input: { town: 'Basel', platform: 7 },
    })
    expect(whole.toolResults[0]?.output).toBe('07:04 to Basel')
    const streamed = streamText({ model: provider('test/plain'), prompt, tools })
    expect((await streamed.toolCalls)[0]?.input).toEqual({ town: 'Basel', platform: 7 })
  })

  test('the AI SDK reports the error of an invalid call', async () => {
    const failure = await generateText({ model: provider('test/none'), prompt: PROMPT, maxRetries: 0 }).catch(
      (error: unknown) => error,
    )
    expect(APICallError.isInstance(failure)).toBe(true)
    expect(failure).toMatchObject({ statusCode: 404, isRetryable: false })
    const failing = await generateText({
      model: provider('test/failing'),
      prompt: PROMPT,
      maxRetries: 0,
    }).catch((error: unknown) => error)
    expect(failing).toMatchObject({ statusCode: 502, isRetryable: true })
  })

  test('the AI SDK reports a stream that broke off', async () => {
    const errors: unknown[] = []
    const result = streamText({
      model: provider('test/cut'),
      prompt: PROMPT,
      onError: ({ error }) => void errors.push(error),
    })
    await result.consumeStream()
    expect(errors).not.toHaveLength(0)
    expect(await result.finishReason).toBe('error')
  })

  test('stops the upstream when it is aborted', async () => {
    const controller = new AbortController()
    const result = streamText({
      model: provider('test/paced'),
      prompt: PROMPT,
      abortSignal: controller.signal,
    })
    let parts = 0
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta' && ++parts === 3) controller.abort()
    }
    const request = await stack.providers.log.abortedBy(({ model }) => model === 'words-2000.rate-40')
    expect(request.state).toBe('aborted')
  })
})
