import { z } from 'zod'
import { type ExportedModel, exportModel } from '../api/index.js'
import { writeModelCard } from '../card/index.js'
import { bytesText, type Report, reportFor } from '../progress/index.js'
import { Run } from '../run/index.js'
import { exportRun } from '../train/index.js'
import { choice, flagHelp, integer, readArguments, text, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'

const flags = z.object({
  to: choice(
    ['gguf', 'hf'],
    'FORMAT',
    'gguf (a file for llama.cpp, Ollama and others) or hf (a Hugging Face directory)',
  ).optional(),
  type: choice(
    ['f32', 'f16', 'bf16', 'q8_0', 'q4_0'],
    'TYPE',
    'type of the matrices in the GGUF file: f32, f16, bf16, q8_0 or q4_0 (default: bf16 for a bfloat16 model, else f16)',
  ).optional(),
  dtype: choice(
    ['float32', 'bfloat16', 'float16'],
    'DTYPE',
    'dtype of the directory (default: that of the model; of a checkpoint only float32, its master weights)',
  ).optional(),
  merge: text('ADAPTER', 'a LoRA adapter (PEFT directory) to merge into the model first', 'an adapter').optional(),
  what: choice(
    ['model', 'adapter', 'base'],
    'WHAT',
    'of a checkpoint: model (with the adapter merged, default), adapter (in PEFT format) or base (without its adapter)',
  ).optional(),
  step: integer('of a run: the checkpoint of this step (default: the newest one)', { min: 0 }).optional(),
  out: text('PATH', 'the file or directory to write (default: NAME-gguf/NAME-TYPE.gguf, NAME-hf)', 'a path').optional(),
})
type Flags = z.output<typeof flags>

export const help = `Usage: whetstone export MODEL --to gguf [--type TYPE] [--out FILE] [--merge ADAPTER]
       whetstone export MODEL --to hf [--dtype DTYPE] [--out DIR] [--merge ADAPTER]
       whetstone export RUN --out DIR [--step N] [--what model|adapter|base] [--dtype float32]

Writes a model for other programs (docs/share.md). MODEL is a model directory, a run (its best model or adapter, else its final one), an
adapter, a GGUF file or an id of the Hub. The command also writes a model card, and for a GGUF file a Modelfile for Ollama.
The last form, without --to, writes the model of a checkpoint of a run: for stopped runs, for adapters, and for master weights in
float32 (docs/precision.md).

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [model, ...rest] = positionals
  if (model === undefined || rest.length > 0) throw new UsageError('expected one model or run')
  const report = reportFor(process.env)
  const checkpoint = given.to === undefined && given.merge === undefined && (await Run.isIn(model).catch(() => false))
  if (checkpoint) return writeCheckpoint(model, given, report)
  const to = given.to ?? 'hf'
  if (given.what !== undefined) throw new UsageError('--what is for checkpoints of a run: leave out --to and --merge')
  if (given.step !== undefined) throw new UsageError('--step is for checkpoints of a run: leave out --to and --merge')
  if (to === 'hf' && given.type !== undefined) throw new UsageError('--type is for --to gguf; use --dtype with --to hf')
  if (to === 'gguf' && given.dtype !== undefined)
    throw new UsageError('--dtype is for --to hf; use --type with --to gguf')
  return interruptible({
    work: async signal => {
      const { out, type, dtype, merge } = given
      const around = { out, merge, report, signal }
      const made = await exportModel(model, to === 'gguf' ? { to, type, ...around } : { to, dtype, ...around })
      console.log(described(made))
    },
    onInterrupt: () => report.line(`Interrupted. ${given.out ?? 'The model'} was not written.`),
  })
}

function described({ path, source, parameters, bytes, files, notes }: ExportedModel): string {
  return [
    `${path}: ${source}, ${parameters.toLocaleString('en-US')} parameters, ${bytesText(bytes)}`,
    ...files.slice(1).map(file => `${file}`),
    ...notes.map(note => `Note: ${note}.`),
  ].join('\n')
}

async function writeCheckpoint(
  run: string,
  { out, what = 'model', dtype, type, step }: Flags,
  report: Report,
): Promise<number> {
  if (out === undefined) throw new UsageError('--out: expected a directory')
  if (type !== undefined) throw new UsageError('--type is for --to gguf')
  if (dtype !== undefined && dtype !== 'float32')
    throw new UsageError(`--dtype: a checkpoint can be written in the dtype of the run, or in float32, not in ${dtype}`)
  return interruptible({
    work: async signal => {
      const made = await exportRun(run, { out, what, step, ...(dtype && { dtype }) }, { report, signal })
      const form = what === 'adapter' ? 'adapter' : 'model'
      if (what !== 'base') await writeModelCard(out, run, { run, form })
      console.log(
        `${out}: step ${made.step} of ${run}, ${made.parameters.toLocaleString('en-US')} parameters, ${bytesText(made.bytes)}`,
      )
    },
    onInterrupt: () => report.line(`Interrupted. ${out} was not written.`),
  })
}
