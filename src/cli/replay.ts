import { resolve } from 'node:path'
import { z } from 'zod'
import { reportFor } from '../progress/index.js'
import { Run } from '../run/index.js'
import { replayRl, replaySupervised } from '../train/index.js'
import { readArguments, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'

export const help = `Usage: whetstone replay RUN

Recomputes every training batch of a run from its journal and its data, without the model, and compares it with the batch that
the run trained on. Exit code 0 if all are equal. Exit code 1 if one differs (the output names samples or rows), or if one could
not be compared, such as an iteration that is missing in the journal.
`

/** What was compared, every difference that was found, and what could not be compared. */
interface Replayed {
  readonly compared: string
  readonly differences: readonly string[]
  readonly notCompared: readonly string[]
}

export async function run(args: string[]): Promise<number> {
  const { positionals } = readArguments(args, z.object({}), { positionals: 'keep' })
  const [directory, ...rest] = positionals
  if (directory === undefined || rest.length > 0) throw new UsageError('expected one run directory')
  const report = reportFor(process.env)
  return interruptible({
    work: async signal => {
      const { compared, differences, notCompared } = await replay(resolve(directory), signal)
      for (const difference of differences.slice(0, shownDifferences)) report.line(difference)
      if (differences.length > shownDifferences) report.line(`and ${differences.length - shownDifferences} more`)
      for (const line of notCompared) report.line(line)
      const isSame = differences.length + notCompared.length === 0
      const outcome = isSame ? ', all equal to the training batches' : ''
      const rest = notCompared.length === 0 ? '' : '; not everything could be compared'
      console.log(`${directory}: ${compared}${outcome}${rest}`)
      return isSame ? 0 : 1
    },
    onInterrupt: () => report.line('Interrupted.'),
  })
}

const shownDifferences = 20

async function replay(directory: string, signal: AbortSignal): Promise<Replayed> {
  const { config, journal } = await Run.read(directory)
  await journal.checkVersion()
  return config.command === 'rl' ? replayRollouts(directory) : replayRows(directory, signal)
}

async function replayRollouts(directory: string): Promise<Replayed> {
  const { iterations, samples, updates, mismatches, notCompared } = await replayRl(directory)
  return {
    compared: `${iterations} iterations, ${samples} samples and ${updates} optimiser steps recomputed`,
    differences: mismatches,
    notCompared,
  }
}

async function replayRows(directory: string, signal: AbortSignal): Promise<Replayed> {
  const { batches, rows, mismatches, notCompared, changedFiles } = await replaySupervised(directory, { signal })
  const place = (where: string | undefined): string => (where === undefined ? '' : ` (${where})`)
  return {
    compared: `${batches} batches of ${rows} rows recomputed`,
    differences: [
      ...changedFiles.map(path => `${path} has changed since the run started`),
      ...mismatches.map(({ step, row, where, message }) => `step ${step}, row ${row}${place(where)}: ${message}`),
    ],
    notCompared,
  }
}
