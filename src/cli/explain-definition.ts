import { z } from 'zod'
import { describeDefinition, loadDefinition } from '../train/index.js'
import { readArguments, UsageError } from './flags.js'

export const help = `Usage: whetstone explain FILE

Describes the definition in a file: a loss, an estimator, a preset or a generator (defineLoss, defineEstimator, defineAlgorithm,
defineGenerator), with its options. docs/extend.md explains how to write one.
`

export async function run(args: string[]): Promise<number> {
  const { positionals } = readArguments(args, z.object({}), { positionals: 'keep' })
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0) throw new UsageError('expected one file')
  console.log(describeDefinition(await loadDefinition(file)))
  return 0
}
