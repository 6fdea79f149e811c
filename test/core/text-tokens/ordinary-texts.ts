interface OrdinaryText {
  text: string
  /** The bound, at most, as a multiple of the count by o200k. */
  most: number
}

export const ORDINARY_TEXTS: Record<string, OrdinaryText> = {
  'English prose': {
    text: `The harbour was quiet when the first boats came back. Nobody had expected them before noon, and the women who
usually waited on the steps were still at the market. An old man with a grey coat counted the sails twice, shook his head, and
walked slowly down to the water. "They must have turned around in the night," he said, though there was no one beside him to hear.
By the time the bells rang, half of the town had gathered along the wall, and everyone was asking the same question.`,
    most: 1.9,
  },
  'a question': {
    text: 'Please explain in a few sentences how a hash table works, when I should use one instead of a sorted list, and what happens if two keys have the same hash.',
    most: 1.9,
  },
  TypeScript: {
    text: `export async function readLines(path: string, signal?: AbortSignal): Promise<string[]> {
  const lines: string[] = []
  const stream = createReadStream(path, { encoding: 'utf8', signal })
  for await (const line of createInterface({ input: stream })) {
    if (line.trim() === '' || line.startsWith('#')) continue
    lines.push(line)
  }
  return lines
}`,
    most: 2.5,
  },
  Python: {
    text: `def moving_average(values, window):
    """Return the average of every window of values."""
    if window <= 0:
        raise ValueError("window must be positive")
    total = sum(values[:window])
    result = [total / window]
    for index in range(window, len(values)):
        total += values[index] - values[index - window]
        result.append(total / window)
    return result`,
    most: 2.3,
  },
  JSON: {
    text: JSON.stringify({
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'Get the current weather in a given location',
        parameters: {
          type: 'object',
          properties: {
            location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
            unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
          },
          required: ['location'],
        },
      },
    }),
    most: 2.8,
  },
  Spanish: {
    text: 'La inteligencia artificial es una disciplina de la informática que busca crear sistemas capaces de realizar tareas que normalmente requieren inteligencia humana. Durante los últimos años, los avances han permitido resolver problemas complejos.',
    most: 3.7,
  },
  German: {
    text: 'Die künstliche Intelligenz ist ein Teilgebiet der Informatik, das sich mit dem maschinellen Lernen befasst. Der Begriff ist schwierig zu definieren, da es verschiedene Definitionen von Intelligenz gibt.',
    most: 3,
  },
  Russian: {
    text: 'Искусственный интеллект — это область информатики, которая занимается созданием систем, способных решать задачи, обычно требующие участия человека.',
    most: 7.5,
  },
  Chinese: {
    text: '人工智能是计算机科学的一个分支，它试图理解智能的实质，并生产出一种新的能以人类智能相似的方式做出反应的智能机器。',
    most: 3.2,
  },
}
