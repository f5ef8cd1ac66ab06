import { z } from 'zod'
import { writeModelCard } from '../card/index.js'
import { reportFor } from '../progress/index.js'
import { exportRun } from '../train/index.js'
import { choice, directory, flagHelp, readArguments, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'

const flags = z.object({
  out: directory('the model directory to write'),
  what: choice(
    ['model', 'adapter', 'base'],
    'WHAT',
    'model (with the adapter merged), adapter (in PEFT format) or base (the model without its adapter)',
  ).default('model'),
  dtype: choice(
    ['float32'],
    'DTYPE',
    'float32: the float32 master weights (default: weights rounded to the dtype of the run)',
  ).optional(),
})

export const help = `Usage: whetstone export RUN --out DIR [--what model|adapter|base] [--dtype float32]

Writes the model of the newest checkpoint of a run as a Hugging Face directory. A finished run already has its final_model; use this for
stopped runs, for adapters, and for weights in float32 (docs/precision.md).

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [run, ...rest] = positionals
  if (run === undefined || rest.length > 0) throw new UsageError('expected one run directory')
  const report = reportFor(process.env)
  const { out, what, dtype } = given
  return interruptible({
    work: async signal => {
      const made = await exportRun(run, { out, what, ...(dtype && { dtype }) }, { report, signal })
      const form = what === 'adapter' ? 'adapter' : 'model'
      if (what !== 'base') await writeModelCard(out, run, { run, form })
      console.log(
        `${out}: step ${made.step} of ${run}, ${made.parameters.toLocaleString('en-US')} parameters, ${(made.bytes / 1e6).toFixed(1)} MB`,
      )
    },
    onInterrupt: () => report.line(`Interrupted. ${out} was not written.`),
  })
}
