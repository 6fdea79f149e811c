/**
 * Calls the gateway through the client library that the argument names, and prints what came of each row as JSON. The
 * packages are in the folder of PACKAGES; ADDRESS, API_KEY, PNG, WAV and the MODELS of the rows come from the environment.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const { PACKAGES, ADDRESS, API_KEY, PNG, WAV } = process.env
const require = createRequire(join(PACKAGES, 'package.json'))
const load = (name) => import(pathToFileURL(require.resolve(name)).href)
const BASE = `${ADDRESS}/v2`
const TURNS = 5
const PROMPT = 'Use add, then add, then add, then add, then add.'
const FIVE_RESULTS = /result 1; result 2; result 3; result 4; result 5/
const HELLO = 'Say hello.'
const LOOK = 'What is this?'
const ONE_IMAGE = /You sent 1 image/
const IMAGE = `data:image/png;base64,${PNG}`

const { z } = await load('zod')
const NUMBERS = z.object({ a: z.number(), b: z.number() })
const PERSON = z.object({ name: z.string(), age: z.number() })

function counter() {
  let calls = 0
  return { execute: async () => `result ${++calls}`, count: () => calls }
}

/** Aborts a slow stream after its first part; it must end at once, with an error or without. */
async function aborted(start) {
  const controller = new AbortController()
  const startedAt = performance.now()
  let parts = 0
  try {
    for await (const _ of await start(controller.signal)) {
      parts += 1
      if (parts === 1) controller.abort()
    }
  } catch (error) {
    assert.match(`${error?.name} ${error?.message}`, /abort/i)
  }
  assert.ok(parts >= 1 && performance.now() - startedAt < 5_000, 'the stream went on')
}

async function collect(stream, textOf) {
  const parts = []
  for await (const part of stream) {
    const text = textOf(part)
    if (text) parts.push(text)
  }
  assert.ok(parts.length > 1, `${parts.length} parts`)
  return parts.join('')
}

/**
 * Calls each method of a library's resources that the gateway serves, in the order of the table. Fails for one that is
 * neither in the table nor among those whose paths are not served, such as a new one.
 */
async function everyMethod(client, calls, unserved) {
  const known = new Set([...Object.keys(calls), ...unserved])
  const resources = new Set(Object.keys(calls).map((name) => name.slice(0, name.lastIndexOf('.'))))
  const methods = [...resources].flatMap((path) => {
    const resource = path.split('.').reduce((part, name) => part[name], client)
    const names = Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
    return names
      .filter((name) => name !== 'constructor' && !name.startsWith('_'))
      .map((name) => `${path}.${name}`)
  })
  assert.deepEqual(
    [...new Set(methods)].filter((name) => !known.has(name)),
    [],
    'methods that are not tried',
  )
  for (const [name, call] of Object.entries(calls)) {
    await call().catch((cause) => {
      throw new Error(`${name}: ${cause.message}`, { cause })
    })
  }
}

async function drained(stream) {
  let parts = 0
  for await (const _ of stream) parts += 1
  assert.ok(parts > 0, 'nothing came')
}

const SDKS = {
  async openai() {
    const { default: OpenAI } = await load('openai')
    const { zodResponseFormat } = await load('openai/helpers/zod')
    const client = new OpenAI({ apiKey: API_KEY, baseURL: BASE, logLevel: 'off' })
    const { completions } = client.chat
    const asked = (model, content = HELLO) => ({ model, messages: [{ role: 'user', content }] })
    const textOf = (completion) => completion.choices[0].message.content
    return {
      plain: async (model) => assert.match(textOf(await completions.create(asked(model))), /\w/),
      stream: async (model) =>
        collect(
          await completions.create({ ...asked(model), stream: true }),
          ({ choices }) => choices[0]?.delta.content,
        ),
      tools: async (model) => {
        const { execute, count } = counter()
        const add = { name: 'add', description: 'Adds.', parse: JSON.parse, function: execute }
        const tool = { type: 'function', function: { ...add, parameters: z.toJSONSchema(NUMBERS) } }
        const runner = completions.runTools({ ...asked(model, PROMPT), tools: [tool] })
        assert.match(await runner.finalContent(), FIVE_RESULTS)
        assert.equal(count(), TURNS)
      },
      structured: async (model) => {
        const format = zodResponseFormat(PERSON, 'person')
        const parsed = await completions.parse({ ...asked(model), response_format: format })
        PERSON.parse(parsed.choices[0].message.parsed)
      },
      images: async (model) => {
        const content = [
          { type: 'text', text: LOOK },
          { type: 'image_url', image_url: { url: IMAGE } },
        ]
        assert.match(textOf(await completions.create(asked(model, content))), ONE_IMAGE)
      },
      abort: (model) =>
        aborted((signal) => completions.create({ ...asked(model), stream: true }, { signal })),
      retry: async (model) => assert.match(textOf(await completions.create(asked(model))), /\w/),
      methods: async (model) => {
        const { zodTextFormat } = await load('openai/helpers/zod')
        const { responses, embeddings, images, audio, moderations, models } = client
        const input = { model, input: HELLO }
        const image = () => new File([Buffer.from(PNG, 'base64')], 'a.png', { type: 'image/png' })
        const recording = () => ({
          model: 'gate/hear',
          file: new File([Buffer.from(WAV, 'base64')], 'a.wav', { type: 'audio/wav' }),
        })
        const tool = { name: 'add', description: 'Adds.', parse: JSON.parse, function: () => 'result 1' }
        const tools = [{ type: 'function', function: { ...tool, parameters: z.toJSONSchema(NUMBERS) } }]
        const person = zodResponseFormat(PERSON, 'person')
        let kept
        const calls = {
          'chat.completions.create': () => completions.create(asked(model)),
          'chat.completions.parse': () => completions.parse({ ...asked(model), response_format: person }),
          'chat.completions.runTools': () => completions.runTools({ ...asked(model), tools }).done(),
          'chat.completions.stream': () => completions.stream(asked(model)).done(),
          'embeddings.create': () => embeddings.create({ model: 'gate/embed', input: HELLO }),
          'moderations.create': () => moderations.create({ model: 'gate/moderation', input: HELLO }),
          'models.list': () => drained(models.list()),
          'models.retrieve': () => models.retrieve(model),
          'images.generate': () => images.generate({ model: 'gate/image', prompt: LOOK, size: '64x64' }),
          'images.edit': () =>
            images.edit({ model: 'gate/image', prompt: LOOK, image: image(), size: '64x64' }),
          'audio.speech.create': () =>
            audio.speech.create({ model: 'gate/speech', voice: 'alloy', input: HELLO }),
          'audio.transcriptions.create': () => audio.transcriptions.create(recording()),
          'audio.translations.create': () => audio.translations.create(recording()),
          'responses.create': async () => {
            kept = await responses.create(input)
          },
          'responses.parse': () =>
            responses.parse({ ...input, text: { format: zodTextFormat(PERSON, 'person') } }),
          'responses.stream': () => responses.stream(input).finalResponse(),
          'responses.retrieve': async () => {
            assert.equal((await responses.retrieve(kept.id)).id, kept.id)
            await drained(await responses.retrieve(kept.id, { stream: true }))
          },
          'responses.inputItems.list': () => drained(responses.inputItems.list(kept.id)),
          'responses.delete': async () => {
            await responses.delete(kept.id)
            await assert.rejects(responses.retrieve(kept.id))
          },
          'responses.cancel': async () => {
            const { id } = await responses.create({ ...input, background: true })
            assert.equal((await responses.cancel(id)).id, id)
          },
        }
        await everyMethod(client, calls, [
          ...['retrieve', 'update', 'list', 'delete'].map((name) => `chat.completions.${name}`),
          ...['images.createVariation', 'models.delete', 'responses.compact'],
        ])
      },
    }
  },
  async '@anthropic-ai/sdk'() {
    const { default: Anthropic } = await load('@anthropic-ai/sdk')
    const { betaZodTool } = await load('@anthropic-ai/sdk/helpers/beta/zod')
    const { zodOutputFormat } = await load('@anthropic-ai/sdk/helpers/zod')
    const client = new Anthropic({ apiKey: API_KEY, baseURL: BASE })
    const { messages, beta } = client
    const asked = (model, content = HELLO) => ({
      model,
      max_tokens: 1_000,
      messages: [{ role: 'user', content }],
    })
    const textOf = ({ content }) => content.map(({ text = '' }) => text).join('')
    return {
      plain: async (model) => assert.match(textOf(await messages.create(asked(model))), /\w/),
      stream: async (model) =>
        collect(await messages.create({ ...asked(model), stream: true }), ({ delta }) => delta?.text),
      tools: async (model) => {
        const { execute, count } = counter()
        const add = betaZodTool({ name: 'add', description: 'Adds.', inputSchema: NUMBERS, run: execute })
        const final = await beta.messages.toolRunner({ ...asked(model, PROMPT), tools: [add] })
        assert.match(textOf(final), FIVE_RESULTS)
        assert.equal(count(), TURNS)
      },
      structured: async (model) => {
        const format = zodOutputFormat(PERSON)
        const parsed = await messages.parse({ ...asked(model), output_config: { format } })
        PERSON.parse(parsed.parsed_output)
      },
      images: async (model) => {
        const source = { type: 'base64', media_type: 'image/png', data: PNG }
        const content = [
          { type: 'image', source },
          { type: 'text', text: LOOK },
        ]
        assert.match(textOf(await messages.create(asked(model, content))), ONE_IMAGE)
      },
      abort: (model) => aborted((signal) => messages.create({ ...asked(model), stream: true }, { signal })),
      retry: async (model) => assert.match(textOf(await messages.create(asked(model))), /\w/),
      methods: async (model) => {
        const { betaZodOutputFormat } = await load('@anthropic-ai/sdk/helpers/beta/zod')
        const counted = { model, messages: asked(model).messages }
        const add = betaZodTool({
          name: 'add',
          description: 'Adds.',
          inputSchema: NUMBERS,
          run: () => 'result 1',
        })
        const output_config = (format) => ({ output_config: { format: format(PERSON) } })
        const calls = {
          'messages.create': () => messages.create(asked(model)),
          'messages.parse': () => messages.parse({ ...asked(model), ...output_config(zodOutputFormat) }),
          'messages.stream': () => messages.stream(asked(model)).finalMessage(),
          'messages.countTokens': () => messages.countTokens(counted),
          'beta.messages.create': () => beta.messages.create(asked(model)),
          'beta.messages.parse': () =>
            beta.messages.parse({ ...asked(model), ...output_config(betaZodOutputFormat) }),
          'beta.messages.stream': () => beta.messages.stream(asked(model)).finalMessage(),
          'beta.messages.countTokens': () => beta.messages.countTokens(counted),
          'beta.messages.toolRunner': async () => beta.messages.toolRunner({ ...asked(model), tools: [add] }),
        }
        await everyMethod(client, calls, ['beta.messages.thread'])
      },
    }
  },
  '@ai-sdk/openai-compatible': async () => {
    const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible')
    const settings = { name: 'shuntyard', baseURL: BASE, apiKey: API_KEY }
    return aiSdk(createOpenAICompatible({ ...settings, supportsStructuredOutputs: true }))
  },
  '@ai-sdk/openai': async () =>
    aiSdk((await load('@ai-sdk/openai')).createOpenAI({ baseURL: BASE, apiKey: API_KEY })),
  '@ai-sdk/anthropic': async () =>
    aiSdk((await load('@ai-sdk/anthropic')).createAnthropic({ baseURL: `${BASE}/v1`, apiKey: API_KEY })),
  '@openrouter/ai-sdk-provider': async () =>
    aiSdk((await load('@openrouter/ai-sdk-provider')).createOpenRouter({ baseURL: BASE, apiKey: API_KEY })),
  '@langchain/openai': async () => {
    const { ChatOpenAI } = await load('@langchain/openai')
    const { tool } = await load('@langchain/core/tools')
    const messages = await load('@langchain/core/messages')
    const chat = (model) => new ChatOpenAI({ model, apiKey: API_KEY, configuration: { baseURL: BASE } })
    return {
      plain: async (model) => assert.match((await chat(model).invoke(HELLO)).text, /\w/),
      stream: async (model) => collect(await chat(model).stream(HELLO), ({ text }) => text),
      tools: async (model) => {
        const { execute, count } = counter()
        const add = tool(execute, { name: 'add', description: 'Adds.', schema: NUMBERS })
        const bound = chat(model).bindTools([add])
        const history = [new messages.HumanMessage(PROMPT)]
        let answer = await bound.invoke(history)
        while (answer.tool_calls.length > 0) {
          history.push(answer)
          for (const call of answer.tool_calls) history.push(await add.invoke(call))
          answer = await bound.invoke(history)
        }
        assert.match(answer.text, FIVE_RESULTS)
        assert.equal(count(), TURNS)
      },
      structured: async (model) => PERSON.parse(await chat(model).withStructuredOutput(PERSON).invoke(HELLO)),
      images: async (model) => {
        const content = [
          { type: 'text', text: LOOK },
          { type: 'image_url', image_url: { url: IMAGE } },
        ]
        const { text } = await chat(model).invoke([new messages.HumanMessage({ content })])
        assert.match(text, ONE_IMAGE)
      },
      abort: (model) => aborted((signal) => chat(model).stream(HELLO, { signal })),
      retry: async (model) => assert.match((await chat(model).invoke(HELLO)).text, /\w/),
    }
  },
  async '@openai/agents'() {
    const { Agent, Runner, tool, OpenAIChatCompletionsModel } = await load('@openai/agents')
    const { default: OpenAI } = await load('openai')
    const client = new OpenAI({ apiKey: API_KEY, baseURL: BASE, logLevel: 'off' })
    const runner = new Runner({ tracingDisabled: true })
    const agent = (model, more = {}) =>
      new Agent({ name: 'Adder', model: new OpenAIChatCompletionsModel(client, model), ...more })
    const run = async (model, input = HELLO, more = {}) =>
      (await runner.run(agent(model, more), input, { maxTurns: TURNS + 2 })).finalOutput
    return {
      plain: async (model) => assert.match(await run(model), /\w/),
      stream: async (model) => {
        const result = await runner.run(agent(model), HELLO, { stream: true })
        await collect(result.toTextStream(), (text) => text)
      },
      tools: async (model) => {
        const { execute, count } = counter()
        const add = tool({ name: 'add', description: 'Adds.', parameters: NUMBERS, execute })
        assert.match(await run(model, PROMPT, { tools: [add] }), FIVE_RESULTS)
        assert.equal(count(), TURNS)
      },
      structured: async (model) => PERSON.parse(await run(model, HELLO, { outputType: PERSON })),
      images: async (model) => {
        const content = [
          { type: 'input_text', text: LOOK },
          { type: 'input_image', image: IMAGE },
        ]
        assert.match(await run(model, [{ role: 'user', content }]), ONE_IMAGE)
      },
      abort: (model) =>
        aborted(async (signal) =>
          (await runner.run(agent(model), HELLO, { stream: true, signal })).toTextStream(),
        ),
      retry: async (model) => assert.match(await run(model), /\w/),
    }
  },
}

/** The AI SDK with one of its providers. */
async function aiSdk(provider) {
  const { generateText, streamText, tool, isStepCount, Output } = await load('ai')
  return {
    plain: async (model) =>
      assert.match((await generateText({ model: provider(model), prompt: HELLO })).text, /\w/),
    stream: async (model) =>
      collect(streamText({ model: provider(model), prompt: HELLO }).textStream, (text) => text),
    tools: async (model) => {
      const { execute, count } = counter()
      const add = tool({ description: 'Adds.', inputSchema: NUMBERS, execute })
      const asked = { model: provider(model), prompt: PROMPT, tools: { add } }
      const { text } = await generateText({ ...asked, stopWhen: isStepCount(TURNS + 2) })
      assert.match(text, FIVE_RESULTS)
      assert.equal(count(), TURNS)
    },
    structured: async (model) => {
      const output = Output.object({ schema: PERSON })
      PERSON.parse((await generateText({ model: provider(model), prompt: HELLO, output })).output)
    },
    images: async (model) => {
      const content = [
        { type: 'text', text: LOOK },
        { type: 'file', data: IMAGE, mediaType: 'image/png' },
      ]
      const { text } = await generateText({
        model: provider(model),
        messages: [{ role: 'user', content }],
      })
      assert.match(text, ONE_IMAGE)
    },
    abort: (model) =>
      aborted((abortSignal) => streamText({ model: provider(model), prompt: HELLO, abortSignal }).textStream),
    retry: async (model) =>
      assert.match((await generateText({ model: provider(model), prompt: HELLO })).text, /\w/),
  }
}

const MODELS = JSON.parse(process.env.MODELS)
const rows = { methods: null, ...(await SDKS[process.argv[2]]()) }
const results = {}
for (const [row, run] of Object.entries(rows)) {
  if (run === null) {
    results[row] = 'not applicable: it uses some methods of an official library'
    continue
  }
  results[row] = await run(MODELS[row]).then(
    () => 'passed',
    (error) => `failed: ${error?.message}`,
  )
}
process.stdout.write(`${JSON.stringify(results)}\n`)
