import type { z } from 'zod'
import { type GeneratedSample, generate } from '../api/index.js'
import { readConfig } from '../model/index.js'
import { resolveSampling } from '../rollout/index.js'
import { promptTemplateFlag } from './chat-template-flag.js'
import { columnsFlag, readColumns } from './columns-flag.js'
import { devicesFlag } from './device-flag.js'
import {
  asUsage,
  engineFlags,
  engineOptions,
  givenSampling,
  samplingFlags,
  samplingParams,
  usableDevice,
} from './engine-flags.js'
import { choice, file, flagHelp, integer, readFlags, toggle } from './flags.js'
import { mediaFlags, mediaOption } from './media-flags.js'
import { type Writing, writingOutput } from './writing-output.js'

const flags = engineFlags.extend({
  devices: devicesFlag,
  input: file('prompts: a file, a folder, a glob pattern or an id of the Hub, as for rl'),
  columns: columnsFlag,
  output: file('output file: one line of JSON per sample; - streams to standard output'),
  chatTemplate: promptTemplateFlag,
  n: integer('samples per prompt', { min: 1 }).default(1),
  ...samplingFlags.shape,
  logprobs: choice(
    ['raw', 'processed'],
    'MEANING',
    'log-probabilities to write. raw: of the distribution of the model; processed: of the distribution after temperature and filters',
  ).default('raw'),
  truncatePrompt: integer('cut longer prompts to N tokens; text of the chat template is never cut', {
    min: 1,
  }).optional(),
  truncateSide: choice(['left', 'right'], 'SIDE', 'left: cut the start of the text; right: cut the end').default(
    'left',
  ),
  keepSpecialTokens: toggle('keep special tokens in the text'),
  ...mediaFlags.shape,
})

export const help = `Usage: whetstone generate --model DIR --input FILE --output FILE.jsonl [options]

Generates responses to prompts. A row of the input is one of

  {"prompt":"..."}       a text: a user message if the tokenizer has a chat template, else plain text with its special tokens
  {"ids":[...]}          token ids, used unchanged
  {"messages":[...]}     a conversation for the assistant to answer, rendered by the chat template

or has the columns of a data set, such as question or instruction. It is a line of a .jsonl file, or a row of what a training reads:
.json, .csv, .tsv, .txt (all also with .gz or .zst), .parquet, .arrow, folders, ids of the Hub. A pipe is read as .jsonl.

Each sample is a line of the output, in the order of the input:

  {"index":0,"sample":0,"prompt_ids":[...],"ids":[...],"text":"...","logprobs":[...],"logprobs_mode":"raw","finish_reason":"stop"}

finish_reason is stop or length. A sample without a response is {"index":0,"sample":0,"error":{"reason":"...","message":"..."}}.
Sampling options come from the flags, else from generation_config.json of the model; the command prints what it took from that file.
A response depends on the text of its row, the number of the row, the seed and the sample index, not on other rows.

${flagHelp(flags)}

Bad rows are listed with their lines before the model is loaded. The output file appears when it is complete. Exit code 1 if
no prompt got a response.
`

type Settings = z.output<typeof flags>

export async function run(args: string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const { model, adapter, input, output } = settings
  return writingOutput(output, { inputs: [input], directories: [model, adapter, input] }, writing =>
    write(settings, writing),
  )
}

/** Gives the exit code: 1 where there were prompts and none got a response. */
async function write(settings: Settings, { output, report, signal }: Writing): Promise<number> {
  const { model, input: data, n, chatTemplate, logprobs, truncatePrompt, truncateSide } = settings
  const given = givenSampling(settings)
  const { vocabSize } = (await readConfig(model)).decoder
  asUsage(() => resolveSampling(samplingParams(settings), { vocabSize, n }))
  usableDevice(settings.device)
  const tally = { responses: 0, rejected: 0, failed: 0, tokens: 0 }
  let [started, ended] = [0, 0]
  const onStart = (): void => {
    started = performance.now()
  }
  const samples = generate({
    ...given,
    seed: settings.seed,
    ...engineOptions(settings),
    ...{ devices: settings.devices, model, data, n, chatTemplate, logprobs, truncateSide, report, signal, onStart },
    columns: readColumns(settings.columns),
    ...mediaOption(settings),
    text: settings.keepSpecialTokens ? 'with-special' : 'plain',
    ...(truncatePrompt === undefined ? {} : { truncatePrompt }),
  })
  await output.write(
    async append => {
      for await (const sample of samples) {
        ended = performance.now()
        if (sample.error) tally[sample.error.kind]++
        else {
          tally.responses++
          tally.tokens += sample.ids.length
        }
        await append(sampleLine(sample, logprobs))
      }
    },
    { signal },
  )
  const seconds = Math.max(1e-3, (ended - started) / 1000)
  const missing = (['rejected', 'failed'] as const).flatMap(kind => (tally[kind] > 0 ? [`${tally[kind]} ${kind}`] : []))
  const whole = (value: number): string => Math.round(value).toLocaleString('en')
  report.line(
    `${output.name}: ${[`${whole(tally.responses)} responses`, ...missing].join(', ')}, ${whole(tally.tokens)} tokens, ${whole(tally.tokens / seconds)} tokens/s`,
  )
  return tally.responses === 0 && tally.rejected + tally.failed > 0 ? 1 : 0
}

export function sampleLine({ index, sample, ...found }: GeneratedSample, meaning: 'raw' | 'processed'): string {
  if (found.error) {
    const { reason, message } = found.error
    return `${JSON.stringify({ index, sample, error: { reason, message } })}\n`
  }
  const { promptIds, ids, text, logprobs, finishReason } = found
  return `${JSON.stringify({
    ...{ index, sample, prompt_ids: Array.from(promptIds), ids: Array.from(ids) },
    ...(text === undefined ? {} : { text }),
    ...{ logprobs: Array.from(logprobs), logprobs_mode: meaning, finish_reason: finishReason },
  })}\n`
}
