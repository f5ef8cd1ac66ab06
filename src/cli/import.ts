import { z } from 'zod'
import { importModel } from '../api/index.js'
import { bytesText, reportFor } from '../progress/index.js'
import { choice, directory, flagHelp, readArguments, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'

const flags = z.object({
  out: directory('the model directory to write; must be empty or not exist'),
  dtype: choice(
    ['float32', 'bfloat16', 'float16'],
    'DTYPE',
    'float32, bfloat16 or float16 (default: that of the file; float32 where it is quantised)',
  ).optional(),
})

export const help = `Usage: whetstone import FILE.gguf --out DIR [--dtype DTYPE]

Writes the model of a GGUF file as a Hugging Face directory: weights (dequantised), config, tokenizer and chat template. If a model has several
parts (NAME-00001-of-0000N.gguf), give any of them. Every command that takes a model also takes a GGUF file, and imports it into the cache.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0) throw new UsageError('expected one GGUF file')
  const report = reportFor(process.env)
  const { out, dtype } = given
  return interruptible({
    work: async signal => {
      const { architecture, parameters, bytes, types, ...made } = await importModel(file, {
        out,
        dtype,
        report,
        signal,
      })
      console.log(
        `${out}: ${architecture} with ${parameters.toLocaleString('en-US')} parameters (${types.join(', ')} in the file), ${made.dtype}, ${bytesText(bytes)}`,
      )
    },
    onInterrupt: () => report.line(`Interrupted. ${out} was not written.`),
  })
}
