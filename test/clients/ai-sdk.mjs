/** The Vercel AI SDK: text and streams of chats and completions, errors. Usage: ai-sdk.mjs BASE_URL FOLDER */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [baseURL, folder] = process.argv.slice(2)
const { resolve } = createRequire(join(folder, 'index.js'))
const load = name => import(pathToFileURL(resolve(name)).href)
const [{ generateText, streamText }, { createOpenAICompatible }] = await Promise.all([
  load('ai'),
  load('@ai-sdk/openai-compatible'),
])
const provider = createOpenAICompatible({ name: 'whetstone', baseURL, apiKey: 'secret', includeUsage: true })
const settings = { maxOutputTokens: 12, seed: 4, temperature: 1, maxRetries: 0 }

for (const model of [provider.chatModel('tiny'), provider.completionModel('tiny')]) {
  const { text, usage } = await generateText({ model, prompt: 'Hello there', ...settings })
  assert.ok(usage.outputTokens > 0 && usage.outputTokens <= 12)
  const stream = streamText({ model, prompt: 'Hello there', ...settings })
  let streamed = ''
  for await (const part of stream.textStream) streamed += part
  assert.equal(streamed, text)
  assert.equal((await stream.usage).outputTokens, usage.outputTokens)
}

const messages = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'One' },
      { type: 'text', text: 'Two' },
    ],
  },
  { role: 'assistant', content: 'Three' },
  { role: 'user', content: 'Four' },
]
const { finishReason } = await generateText({ model: provider.chatModel('tiny'), messages, ...settings })
assert.ok(['stop', 'length'].includes(finishReason))
await assert.rejects(
  generateText({ model: provider.chatModel('tiny'), prompt: 'x', ...settings, presencePenalty: 1 }),
  /presence_penalty is not supported/,
)
await assert.rejects(generateText({ model: provider.chatModel('other'), prompt: 'x', ...settings }), /does not exist/)
console.log('the AI SDK holds')
