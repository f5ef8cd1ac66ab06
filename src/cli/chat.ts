import { createInterface } from 'node:readline/promises'
import { locateGiven } from '../api/index.js'
import { InputError } from '../errors/index.js'
import { reportFor } from '../progress/index.js'
import { type GenerationRequest, type OpenedEngine, openEngine, type SamplingParams } from '../rollout/index.js'
import { type ChatMessage, Tokenizer } from '../text/index.js'
import { conversationTemplateFlag } from './chat-template-flag.js'
import { engineFlags, engineOptions, samplingFlags, samplingParams, usableDevice } from './engine-flags.js'
import { flagHelp, readFlags, text } from './flags.js'

const flags = engineFlags.extend({
  chatTemplate: conversationTemplateFlag,
  system: text('TEXT', 'system message').optional(),
  ...samplingFlags.shape,
})

export const help = `Usage: whetstone chat --model DIR [options]

Chats with a model through its chat template. Ctrl-C stops an answer; a second Ctrl-C ends the chat;
/new starts a new conversation, /quit ends.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { model: named, adapter: namedAdapter, system, chatTemplate, ...given } = readFlags(args, flags)
  const sampling = samplingParams(given)
  usableDevice(given.device)
  const report = reportFor(process.env)
  const { model, adapter } = await locateGiven({ model: named, adapter: namedAdapter }, { report })
  await checkConversations(model, chatTemplate)
  const loading = report.transfer('loading')
  const opened = await openEngine(model, {
    ...engineOptions({ model, adapter, ...given }),
    chatTemplate,
    maxSequences: 1,
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
  try {
    await converse(opened, sampling, system)
    return 0
  } finally {
    await opened.close()
  }
}

/** Before the model is loaded. */
async function checkConversations(model: string, chatTemplate: string): Promise<void> {
  const tokenizer = await Tokenizer.load(model, { chatTemplate })
  if (!tokenizer.hasChatTemplate)
    throw new InputError(`${model} has no chat template, and a chat needs one`, {
      remedy: 'Set one: --chat-template chatml, or --chat-template FILE with a Jinja file.',
    })
}

async function converse(opened: OpenedEngine, sampling: SamplingParams, system: string | undefined): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' })
  const fresh = (): ChatMessage[] => (system === undefined ? [] : [{ role: 'system', content: system }])
  let messages = fresh()
  let answering = false
  // A pipe may be closed while its last lines are not yet answered; then do not prompt for more.
  let open = true
  terminal.on('close', () => {
    open = false
  })
  terminal.on('SIGINT', () => {
    if (answering) opened.engine.abortAll()
    else terminal.close()
  })
  terminal.prompt()
  // Lines of a pipe come faster than answers: the iterator buffers them.
  for await (const line of terminal) {
    const content = line.trim()
    if (content === '/quit') break
    if (content === '/new') messages = fresh()
    else if (content !== '') {
      messages.push({ role: 'user', content })
      answering = true
      const answer = await reply(opened, messages, { ...sampling, seed: sampling.seed + messages.length })
      answering = false
      messages.push({ role: 'assistant', content: answer })
    }
    if (open) terminal.prompt()
  }
  terminal.close()
}

/** Prints the answer as it comes. */
async function reply(
  { engine, tokenizer }: OpenedEngine,
  messages: readonly ChatMessage[],
  sampling: SamplingParams,
): Promise<string> {
  const promptIds = await tokenizer!.encodeChat(messages, { addGenerationPrompt: true })
  const request: GenerationRequest = {
    id: `${messages.length}`,
    promptIds,
    sampling: { ...sampling, text: 'plain' },
  }
  const { value: outcome } = await engine
    .generate([request], { onToken: ({ text }) => void process.stdout.write(text) })
    .next()
  process.stdout.write('\n')
  if (outcome?.kind === 'completed') return outcome.text ?? ''
  throw new InputError(outcome?.message ?? 'no answer')
}
