import { createInterface } from 'node:readline/promises'
import { locateGiven } from '../api/index.js'
import { InputError } from '../errors/index.js'
import { MultimodalProcessor } from '../model/index.js'
import { type Report, reportFor } from '../progress/index.js'
import {
  type GenerationRequest,
  generationConfigLines,
  type OpenedEngine,
  openEngine,
  readGenerationConfig,
  type SamplingParams,
} from '../rollout/index.js'
import { type ChatMessage, placedTypes, placeMedia, Tokenizer } from '../text/index.js'
import { type MediaSettings, processorOptions } from '../train/index.js'
import { Conversation, chatHelp, chatInput } from './chat-commands.js'
import { conversationTemplateFlag } from './chat-template-flag.js'
import {
  engineFlags,
  engineOptions,
  givenSampling,
  samplingFlags,
  samplingParams,
  usableDevice,
} from './engine-flags.js'
import { flagHelp, readFlags, text } from './flags.js'
import { interruptibleStart } from './interrupt.js'
import { mediaFlags, mediaOption } from './media-flags.js'

const flags = engineFlags.extend({
  chatTemplate: conversationTemplateFlag,
  system: text('TEXT', 'system message').optional(),
  ...mediaFlags.shape,
  ...samplingFlags.shape,
})

/** Where neither a flag nor the model says one: at 1, small models ramble. */
const quietTemperature = 0.7

export const help = `Usage: whetstone chat --model DIR [options]

Chats with a model through its chat template. Ctrl-C stops an answer; a second Ctrl-C ends the chat. A line is a message, or one of

${chatHelp}

Sampling options come from the flags, else from generation_config.json of the model, else the temperature is ${quietTemperature}. Lines from a pipe
are messages too; answers go to standard output, everything else to standard error.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { model: named, adapter: namedAdapter, system, chatTemplate, ...given } = readFlags(args, flags)
  samplingParams(given)
  usableDevice(given.device)
  const report = reportFor(process.env)
  const started = await interruptibleStart(report, async signal => {
    const { model, adapter } = await locateGiven({ model: named, adapter: namedAdapter }, { report, signal })
    await checkConversations(model, chatTemplate)
    const configured = await readGenerationConfig(model)
    const sampling = samplingParams(given, { temperature: quietTemperature, ...configured.defaults })
    const loading = report.transfer('loading')
    const opened = await openEngine(model, {
      ...engineOptions({ model, adapter, ...given }),
      ...{ chatTemplate, maxSequences: 1, signal },
      onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
    }).finally(() => loading.end())
    return { model, opened, configured, sampling, close: () => opened.close() }
  })
  if (typeof started === 'number') return started
  const { model, opened, configured, sampling } = started
  try {
    for (const line of generationConfigLines(configured, givenSampling(given))) report.line(line)
    if (process.stdin.isTTY) report.line('/help lists the commands.')
    await converse(opened, { sampling, system, report, media: new ChatMedia(opened, model, mediaOption(given).media) })
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

interface ConverseOptions {
  readonly sampling: SamplingParams
  readonly system: string | undefined
  readonly report: Report
  readonly media: ChatMedia
}

async function converse(opened: OpenedEngine, { sampling, system, report, media }: ConverseOptions): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' })
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY
  const conversation = new Conversation(system)
  let [answering, answers] = [false, 0]
  // Ctrl-D may come while an answer is given; then do not prompt for more.
  let open = true
  terminal.on('close', () => {
    open = false
  })
  terminal.on('SIGINT', () => {
    if (answering) opened.engine.abortAll()
    else terminal.close()
  })
  let left = false
  const answer = async (): Promise<void> => {
    answering = true
    // Another seed for each answer: a repeated one may differ.
    const asked = { ...sampling, seed: sampling.seed + 2 * ++answers - 1 }
    try {
      const content = await reply(opened, await media.encode(conversation.messages), asked)
      conversation.messages.push({ role: 'assistant', content })
    } catch (error) {
      // A person can go on; a script should hear of it.
      if (!process.stdin.isTTY || !(error instanceof InputError)) throw error
      conversation.messages.pop()
      report.warn(`${error.message}. /new starts a new conversation.`)
    } finally {
      answering = false
    }
  }
  const obey = async (line: string): Promise<'stay' | 'quit'> => {
    const input = chatInput(line)
    switch (input.kind) {
      case 'message':
        conversation.say(input.text)
        await answer()
        break
      case 'image':
      case 'video':
        for (const path of input.paths) {
          const problem = await media.check(input.kind, path)
          // A person gives another path; a script should hear of it.
          if (problem !== undefined && !process.stdin.isTTY) throw new InputError(problem)
          if (problem === undefined) conversation.add(input.kind, path)
          report.line(problem ?? `${path} belongs to the next message.`)
        }
        break
      case 'retry':
        if (conversation.retry()) await answer()
        else report.line('There is no message to answer again.')
        break
      case 'system':
        conversation.system = input.text === '' ? undefined : input.text
        conversation.restart()
        report.line(`${input.text === '' ? 'No system message' : 'System message set'}; this is a new conversation.`)
        break
      case 'save':
        report.line(await conversation.save(input.text).catch(savingProblem))
        break
      case 'new':
        conversation.restart()
        report.line('This is a new conversation.')
        break
      case 'help':
        report.line(chatHelp)
        break
      case 'unknown':
        report.line(input.message)
        break
      case 'quit':
        return 'quit'
    }
    return 'stay'
  }
  // What a script reads are answers and nothing else.
  if (isTerminal) terminal.prompt()
  // Lines of a pipe come faster than answers: the iterator buffers them.
  for await (const line of terminal) {
    left = (await obey(line)) === 'quit'
    if (left) break
    if (isTerminal && open) terminal.prompt()
  }
  terminal.close()
  // After Ctrl-C and Ctrl-D the prompt of the chat is still there, and that of the shell would stand behind it.
  if (isTerminal && !left) process.stdout.write('\n')
}

/** In a script, a conversation that was not saved is a failure; a person gives another name. */
function savingProblem(error: unknown): string {
  if (!process.stdin.isTTY || !(error instanceof InputError)) throw error
  return error.message
}

/** Images and videos of a chat. Those of earlier messages are read again, and their pixels are kept. */
class ChatMedia {
  #processor: Promise<MultimodalProcessor | undefined> | undefined

  constructor(
    private readonly opened: OpenedEngine,
    private readonly directory: string,
    private readonly settings: MediaSettings | undefined,
  ) {}

  /** Why a file cannot be shown to the model. */
  async check(kind: 'image' | 'video', path: string): Promise<string | undefined> {
    try {
      const processor = await this.#load()
      if (!processor) return 'This model reads text alone: images and videos need a vision-language model.'
      await processor.media[kind](path)
      return undefined
    } catch (error) {
      if (error instanceof InputError) return error.message
      throw error
    }
  }

  async encode(messages: readonly ChatMessage[]): Promise<Pick<GenerationRequest, 'promptIds' | 'media'>> {
    const { prompt, images, videos } = placeMedia(messages)
    const options = { addGenerationPrompt: true, mediaTypes: placedTypes }
    const promptIds = await this.opened.tokenizer!.encodeChat(prompt as readonly ChatMessage[], options)
    if (images.length + videos.length === 0) return { promptIds }
    const processor = await this.#load()
    const found = await processor!.process(promptIds, { images, videos })
    if (found.kind === 'failed') throw new InputError(found.message)
    return { promptIds: found.ids, media: found.media }
  }

  #load(): Promise<MultimodalProcessor | undefined> {
    const encode = (text: string) => this.opened.tokenizer!.encode(text, { addSpecialTokens: false })
    this.#processor ??= MultimodalProcessor.of(this.opened.model, this.directory, {
      encode,
      ...processorOptions(this.settings),
    })
    return this.#processor
  }
}

/** A model may say anything; a terminal would obey its escape sequences. */
const withoutControls = (text: string): string => text.replace(/(?![\n\t])\p{Cc}/gu, '')

/** Prints the answer as it comes. */
async function reply(
  { engine }: OpenedEngine,
  prompt: Pick<GenerationRequest, 'promptIds' | 'media'>,
  sampling: SamplingParams,
): Promise<string> {
  const request: GenerationRequest = {
    id: 'answer',
    ...prompt,
    sampling: { ...sampling, text: 'plain' },
  }
  const { isTTY } = process.stdout
  const { value: outcome } = await engine
    .generate([request], { onToken: ({ text }) => void process.stdout.write(isTTY ? withoutControls(text) : text) })
    .next()
  process.stdout.write('\n')
  if (outcome?.kind === 'completed') return outcome.text ?? ''
  throw new InputError(outcome?.message ?? 'no answer')
}
