import { z } from 'zod'
import { count, numberText, type Report, reportFor } from '../progress/index.js'
import { MIN_VOCAB_SIZE, type TrainProgress, trainTokenizer } from '../text/index.js'
import { actionFirst, directory, flagHelp, integer, readArguments, text } from './flags.js'
import { interruptible } from './interrupt.js'

const input = text(
  'FILE',
  '.txt, .md or .jsonl file (every string of every row); several files are allowed, repeat works too',
  'a file',
)

const flags = z.object({
  input: z.array(input, { error: 'expected at least one file' }).meta(input.meta()!),
  vocabSize: integer(`vocabulary size, at least ${MIN_VOCAB_SIZE}; smaller if the text has no more pairs to merge`, {
    min: MIN_VOCAB_SIZE,
  }),
  out: directory('output directory; must be empty or not exist'),
  minFrequency: integer('merge only pairs that occur at least this often', { min: 1 }).default(2),
})

export const help = `Usage: whetstone tokenizer train --input FILE... --vocab-size N --out DIR [--min-frequency N]

Trains a small byte-level BPE tokenizer with chat tokens and a ChatML template: tokenizer.json, tokenizer_config.json and
chat_template.jinja. AutoTokenizer of transformers loads them too.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(actionFirst(args, 'train'), flags, { positionals: 'keep' })
  const { input, ...options } = given
  // The shell expands `--input *.txt` to one option and some positionals.
  const files = [...input, ...positionals]
  const report = reportFor(process.env)
  return interruptible({
    work: async signal => {
      const progress = showProgress(report)
      const trained = await trainTokenizer({ ...options, files, signal, onProgress: progress.show }).finally(
        progress.end,
      )
      const short = trained.vocabSize < options.vocabSize ? ` (the text has no more pairs to merge)` : ''
      console.log(
        `${trained.dir}: ${numberText(trained.vocabSize)} tokens from ${numberText(trained.characters)} characters${short}`,
      )
    },
    onInterrupt: () => report.line(`Interrupted. ${options.out} was not written.`),
  })
}

function showProgress(report: Report): { show: (progress: TrainProgress) => void; end: () => void } {
  const reading = report.transfer('reading', count('characters', 1e8))
  const merging = report.transfer('merging', count('tokens', 10_000))
  return {
    show: progress => {
      if (progress.stage === 'reading') reading.at(progress.characters)
      else merging.at(progress.vocabSize, progress.of)
    },
    end: () => merging.end(),
  }
}
