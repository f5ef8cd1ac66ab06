import { resolve } from 'node:path'
import { z } from 'zod'
import { replay } from '../api/index.js'
import { reportFor } from '../progress/index.js'
import { readArguments, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'

export const help = `Usage: whetstone replay RUN

Recomputes every training batch of a run from its journal and its data, without the model, and compares it with the batch that
the run trained on. Exit code 0 if all are equal. Exit code 1 if one differs (the output names samples or rows), or if one could
not be compared, such as an iteration that is missing in the journal.
`

export async function run(args: string[]): Promise<number> {
  const { positionals } = readArguments(args, z.object({}), { positionals: 'keep' })
  const [directory, ...rest] = positionals
  if (directory === undefined || rest.length > 0) throw new UsageError('expected one run directory')
  const report = reportFor(process.env)
  return interruptible({
    work: async signal => {
      const { equal, compared, differences, notCompared } = await replay(resolve(directory), { signal })
      for (const difference of differences.slice(0, shownDifferences)) report.line(difference)
      if (differences.length > shownDifferences) report.line(`and ${differences.length - shownDifferences} more`)
      for (const line of notCompared) report.line(line)
      const outcome = equal ? ', all equal to the training batches' : ''
      const rest = notCompared.length === 0 ? '' : '; not everything could be compared'
      console.log(`${directory}: ${compared}${outcome}${rest}`)
      return equal ? 0 : 1
    },
    onInterrupt: () => report.line('Interrupted.'),
  })
}

const shownDifferences = 20
