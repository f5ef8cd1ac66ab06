/**
 * llama.cpp in a process of its own: reads one JSON request from standard input and prints one JSON answer.
 *
 *   node test/gguf/llama-cpp.mjs FOLDER   the folder that has node_modules/node-llama-cpp
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const require = createRequire(join(process.argv[2], 'index.js'))
const { getLlama, JinjaTemplateChatWrapper, LlamaLogLevel } = await import(
  pathToFileURL(require.resolve('node-llama-cpp')).href
)

let text = ''
for await (const piece of process.stdin) text += piece
const { model: path, texts = [], chats = [], sequences = [], greedy, batch } = JSON.parse(text)

const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error, maxThreads: 2 })
const model = await llama.loadModel({ modelPath: path, vocabOnly: sequences.length === 0 && !greedy })
const answer = {
  ids: texts.map(one => model.tokenize(one, true)),
  chats: chats.map(renderedChat),
  bos: model.tokens.bos,
  eos: model.tokens.eos,
  addsBos: model.tokens.shouldPrependBosToken,
  logprobs: [],
  greedy: [],
}
if (sequences.length > 0 || greedy) {
  const longest = Math.max(...sequences.map(ids => ids.length), greedy ? greedy.prompt.length + greedy.count : 0)
  const context = await model.createContext({
    contextSize: longest + 8,
    batchSize: batch ?? longest + 8,
    // Keys and values in full, and attention by plain products: what is compared is the weights.
    flashAttention: false,
    experimentalKvCacheKeyType: 'F32',
    experimentalKvCacheValueType: 'F32',
  })
  const sequence = context.getSequence()
  for (const ids of sequences) {
    await sequence.clearHistory()
    const wanted = ids.map(id => [id, { generateNext: { logits: true } }])
    const outputs = await sequence.controlledEvaluate(wanted)
    answer.logprobs.push(ids.slice(1).map((id, i) => logprob(outputs[i].next.logits, id)))
  }
  if (greedy) {
    await sequence.clearHistory()
    let next = greedy.prompt
    for (let i = 0; i < greedy.count; i++) {
      const items = next.map((id, at) => (at === next.length - 1 ? [id, { generateNext: { logits: true } }] : id))
      const outputs = await sequence.controlledEvaluate(items)
      const best = likeliest(outputs[next.length - 1].next.logits)
      answer.greedy.push(best)
      next = [best.id]
    }
  }
}
process.stdout.write(JSON.stringify(answer))
process.exit(0)

/** The ids of a conversation, by the template in the file. */
function renderedChat(messages) {
  const template = model.fileInfo.metadata.tokenizer.chat_template
  const wrapper = new JinjaTemplateChatWrapper({ template, trimLeadingWhitespaceInResponses: false })
  const chatHistory = [
    ...messages.map(({ role, content }) =>
      role === 'assistant' ? { type: 'model', response: [content] } : { type: role, text: content },
    ),
    { type: 'model', response: [] },
  ]
  return wrapper.generateContextState({ chatHistory }).contextText.tokenize(model.tokenizer)
}

function logprob(logits, id) {
  let [most, sum] = [Number.NEGATIVE_INFINITY, 0]
  for (const value of logits.values()) most = Math.max(most, value)
  for (const value of logits.values()) sum += Math.exp(value - most)
  return logits.get(id) - most - Math.log(sum)
}

/** With how far the second is behind it. */
function likeliest(logits) {
  let [id, most, second] = [-1, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const [token, value] of logits)
    if (value > most) [id, most, second] = [token, value, most]
    else if (value > second) second = value
  return { id, margin: most - second }
}
