import { parseArgs } from 'node:util'
import { WhetstoneError } from '../errors/index.js'
import { MIN_VOCAB_SIZE, type TrainProgress, trainTokenizer } from '../text/index.js'

export const help = `whetstone tokenizer train: make a small byte-level BPE tokenizer with chat tokens and a ChatML template

Usage:
  whetstone tokenizer train --input FILE... --vocab-size N --out DIR [--min-frequency N]

Options:
  --input FILE        .txt, .md or .jsonl (every string of every row); several, or given several times
  --vocab-size N      tokens in all, at least ${MIN_VOCAB_SIZE}; fewer come out when the text has no more pairs to merge
  --out DIR           directory to make; must not exist or be empty
  --min-frequency N   merge only pairs seen at least this often (default 2)

Writes tokenizer.json, tokenizer_config.json and chat_template.jinja; transformers' AutoTokenizer loads them too.
`

class UsageError extends Error {}

/** Runs the verb. 0: done; 1: bad input; 2: bad usage. */
export async function run(args: string[]): Promise<number> {
  try {
    const options = readArguments(args)
    if (options === 'help') {
      process.stdout.write(help)
      return 0
    }
    const progress = progressLine()
    const trained = await trainTokenizer({ ...options, onProgress: progress.show }).finally(progress.clear)
    const short = trained.vocabSize < options.vocabSize ? ` (the text has no more pairs to merge)` : ''
    process.stdout.write(`${trained.dir}: ${trained.vocabSize} tokens from ${trained.characters} characters${short}\n`)
    return 0
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`whetstone tokenizer: ${error.message}\n\n${help}`)
      return 2
    }
    if (error instanceof WhetstoneError) {
      process.stderr.write(`whetstone tokenizer: ${error.message}\n`)
      return 1
    }
    throw error
  }
}

interface TrainArguments {
  files: string[]
  vocabSize: number
  minFrequency: number
  out: string
}

function readArguments(args: string[]): TrainArguments | 'help' {
  const { values, positionals } = parse(args)
  if (values.help) return 'help'
  const [action, ...rest] = positionals
  if (action !== 'train') throw new UsageError(action ? `unknown action "${action}"` : 'expected an action: train')
  // What a shell makes of `--input *.txt` arrives as one option and some positionals.
  const files = [...(values.input ?? []), ...rest]
  if (!values.input) throw new UsageError('--input: expected at least one file')
  if (!values.out) throw new UsageError('--out: expected a directory')
  return {
    files,
    vocabSize: integer('--vocab-size', values['vocab-size'], MIN_VOCAB_SIZE),
    minFrequency: integer('--min-frequency', values['min-frequency'], 1),
    out: values.out,
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        input: { type: 'string', multiple: true },
        'vocab-size': { type: 'string' },
        out: { type: 'string' },
        'min-frequency': { type: 'string', default: '2' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause })
  }
}

function integer(name: string, text: string | undefined, least: number): number {
  const value = Number(text)
  if (text === undefined || !/^\d+$/.test(text) || value < least) {
    throw new UsageError(`${name}: expected an integer of at least ${least}, got ${text ?? 'nothing'}`)
  }
  return value
}

/** One line that rewrites itself, on a terminal only: a log file has no use for it. */
function progressLine(): { show: (progress: TrainProgress) => void; clear: () => void } {
  if (!process.stderr.isTTY) return { show: () => {}, clear: () => {} }
  const write = (text: string) => void process.stderr.write(`\r\x1b[K${text}`)
  return {
    show: progress =>
      write(
        progress.stage === 'reading'
          ? `reading ${progress.file}: ${progress.characters} characters`
          : `merging: ${progress.vocabSize} of ${progress.of} tokens`,
      ),
    clear: () => write(''),
  }
}
