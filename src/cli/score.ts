import type { z } from 'zod'
import { type Scored, score } from '../api/index.js'
import { count } from '../progress/index.js'
import { promptTemplateFlag } from './chat-template-flag.js'
import { modelFlags, usableDevice } from './engine-flags.js'
import { choice, file, flagHelp, readFlags } from './flags.js'
import { type Writing, writingOutput } from './writing-output.js'

const flags = modelFlags.extend({
  input: file('input file: one line of JSON per sequence'),
  output: file('output file: one line of JSON per input line; - streams to standard output'),
  chatTemplate: promptTemplateFlag,
  packing: choice(
    ['on', 'off'],
    'on|off',
    'pack sequences without padding, or pad them; the results are the same',
  ).default('on'),
})

export const help = `Usage: whetstone score --model DIR --input FILE.jsonl --output FILE.jsonl [options]

Computes log-probabilities, entropies or reward scores of token sequences. A line of the input is one of

  {"ids":[...]}                          every token but the first
  {"prompt":"...","response":"..."}      the tokens of the response
  {"messages":[...]}                     the tokens of the assistant, rendered by the chat template

and the same line of the output {"logprobs":[...],"entropies":[...]}, one number per token, or {"score":x} where the model
model is a reward model. A prompt is a user message if the tokenizer has a chat template, else plain text with its special
tokens. Prompt and response are encoded separately and joined as ids. A reward model also reads
the end-of-turn token, as in its training.

${flagHelp(flags)}

Bad lines are listed with their numbers before the model is loaded. The output file appears when it is complete.
`

type Settings = z.output<typeof flags>

export async function run(args: string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const { model, adapter, input, output } = settings
  return writingOutput(output, { inputs: [input], directories: [model, adapter] }, writing => write(settings, writing))
}

async function write(settings: Settings, { output, report, signal }: Writing): Promise<void> {
  const { model, input: data, adapter, chatTemplate, packing } = settings
  const device = usableDevice(settings.device)
  const scores = score({
    ...{ model, data, device, chatTemplate, packing, report, signal },
    ...(adapter === undefined ? {} : { adapter }),
  })
  const total = { lines: 0, tokens: 0 }
  let started: number | undefined
  await output.write(
    async append => {
      let text = ''
      for await (const scored of scores) {
        started ??= performance.now()
        total.lines++
        total.tokens += scored.tokens
        text += scoreLine(scored)
        if (text.length < partLength) continue
        await append(text)
        text = ''
      }
      await append(text)
    },
    { signal },
  )
  const seconds = (performance.now() - (started ?? 0)) / 1000
  const lines = count(total.lines === 1 ? 'line' : 'lines', 0).show(total.lines)
  const { show } = count('tokens', 0)
  report.line(`${output.name}: ${lines}, ${show(total.tokens)}, ${show(total.tokens / seconds)}/s`)
}

/** Text that is written at once. */
const partLength = 1 << 16

function scoreLine(scored: Scored): string {
  if (scored.score !== undefined) return `${JSON.stringify({ score: scored.score })}\n`
  const { logprobs, entropies } = scored
  return `${JSON.stringify({ logprobs: Array.from(logprobs), entropies: Array.from(entropies) })}\n`
}
