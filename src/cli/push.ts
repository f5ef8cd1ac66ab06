import { z } from 'zod'
import { push } from '../api/index.js'
import { reportFor } from '../progress/index.js'
import { flagHelp, readArguments, toggle, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'

const flags = z.object({
  private: toggle('make the repository private, if it does not exist yet'),
  dataset: toggle('the directory is a data set'),
})

export const help = `Usage: whetstone push DIR ORG/NAME [--private] [--dataset]

Uploads a model directory to the Hugging Face Hub, as one commit, and prints its page. If DIR is a run, its best model or adapter is
uploaded, or its last one. A model without a README.md gets a model card. The repository is created if it does not exist. The upload has
the weights, config, tokenizer, README.md, licence, GGUF files and a Modelfile, but no checkpoints, optimiser states or logs. A file with
a key in it is refused.

${flagHelp(flags)}

HF_TOKEN (or \`hf auth login\`) must be a token with write access.
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [directory, id, ...rest] = positionals
  if (directory === undefined || id === undefined || rest.length > 0)
    throw new UsageError('expected a directory and an id, such as runs/sft org/name')
  const report = reportFor(process.env)
  return interruptible({
    work: async signal => {
      const kind = given.dataset ? 'data' : 'model'
      const visibility = given.private ? ({ visibility: 'private' } as const) : {}
      const { url } = await push(directory, id, { kind, ...visibility, report, signal })
      console.log(url)
    },
    onInterrupt: () => report.line(`Interrupted. ${id} has no new commit.`),
  })
}
