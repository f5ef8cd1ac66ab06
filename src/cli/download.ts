import { z } from 'zod'
import { download } from '../api/index.js'
import { reportFor } from '../progress/index.js'
import { flagHelp, readArguments, text, toggle, UsageError } from './flags.js'
import { fetchedIsKept, interruptible } from './interrupt.js'

const flags = z.object({
  revision: text('REVISION', 'a branch, a tag or a commit (default main)', 'a revision').optional(),
  data: toggle('the id is that of a data set'),
})

export const help = `Usage: whetstone download ID [--revision REVISION] [--data]

Fetches a model or a data set of the Hugging Face Hub (org/name) into the cache that other tools share, and prints its directory.
Models: config, tokenizer, chat template and safetensors. Data sets: parquet, arrow, JSON and CSV files. Every file is checked.
An interrupted download continues where it stopped. Every command that takes a model or data also takes an id, and downloads it this way.

${flagHelp(flags)}

HF_TOKEN (or \`hf auth login\`) gives access to private and gated repositories, HF_HOME is the directory of the cache, HF_ENDPOINT selects
another server, and HF_HUB_OFFLINE=1 uses only the cache.
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [id, ...rest] = positionals
  if (id === undefined || rest.length > 0) throw new UsageError('expected one id, such as org/name')
  const report = reportFor(process.env)
  const { revision, data } = given
  return interruptible({
    work: async signal => {
      const kind = data ? 'data' : 'model'
      const { directory } = await download(id, {
        kind,
        ...(revision === undefined ? {} : { revision }),
        report,
        signal,
      })
      console.log(directory)
    },
    onInterrupt: () => report.line(fetchedIsKept),
  })
}
