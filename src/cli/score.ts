import type { z } from 'zod'
import { type Scored, score } from '../api/index.js'
import { count } from '../progress/index.js'
import { promptTemplateFlag } from './chat-template-flag.js'
import { columnsFlag, readColumns } from './columns-flag.js'
import { devicesFlag } from './device-flag.js'
import { modelFlags, usableDevice } from './engine-flags.js'
import { choice, file, flagHelp, readFlags } from './flags.js'
import { mediaFlags, mediaOption } from './media-flags.js'
import { type Writing, writingOutput } from './writing-output.js'

const flags = modelFlags.extend({
  devices: devicesFlag,
  input: file('sequences: a file, a folder, a glob pattern or an id of the Hub, as for sft'),
  columns: columnsFlag,
  output: file('output file: one line of JSON per row of the input; - streams to standard output'),
  chatTemplate: promptTemplateFlag,
  packing: choice(
    ['on', 'off'],
    'on|off',
    'pack sequences without padding, or pad them; the results are the same',
  ).default('on'),
  ...mediaFlags.shape,
})

export const help = `Usage: whetstone score --model DIR --input FILE --output FILE.jsonl [options]

Computes log-probabilities, entropies or reward scores of token sequences. A row of the input is one of

  {"ids":[...]}                          every token but the first
  {"prompt":"...","response":"..."}      the tokens of the response
  {"messages":[...]}                     the tokens of the assistant, rendered by the chat template
  {"text":"..."}                         every token but the first

or has other columns that sft reads, such as question and answer. It is a line of a .jsonl file, or a row of what a training reads:
.json, .csv, .tsv, .txt (all also with .gz or .zst), .parquet, .arrow, folders, ids of the Hub. A pipe is read as .jsonl.

The same line of the output is {"logprobs":[...],"entropies":[...]}, one number per token, or {"score":x} if the model is a reward
model. A prompt is a user message if the tokenizer has a chat template, else plain text with its special tokens. Prompt and
response are encoded separately and joined as ids. A reward model also reads the end-of-turn token, as in its training.

${flagHelp(flags)}

Bad rows are listed with their lines before the model is loaded. The output file appears when it is complete.
`

type Settings = z.output<typeof flags>

export async function run(args: string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const { model, adapter, input, output } = settings
  return writingOutput(output, { inputs: [input], directories: [model, adapter, input] }, writing =>
    write(settings, writing),
  )
}

async function write(settings: Settings, { output, report, signal }: Writing): Promise<void> {
  const { model, input: data, adapter, chatTemplate, packing } = settings
  const device = usableDevice(settings.device)
  const scores = score({
    ...{ model, data, device, devices: settings.devices, chatTemplate, packing, report, signal },
    columns: readColumns(settings.columns),
    ...mediaOption(settings),
    ...(adapter === undefined ? {} : { adapter }),
  })
  const total = { rows: 0, tokens: 0 }
  let started: number | undefined
  await output.write(
    async append => {
      let text = ''
      for await (const scored of scores) {
        started ??= performance.now()
        total.rows++
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
  const lines = count(total.rows === 1 ? 'line' : 'lines', 0).show(total.rows)
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
