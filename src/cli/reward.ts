/** `reward train` and `reward test`. */
import { didYouMean } from '../errors/index.js'
import { UsageError } from './flags.js'
import * as test from './reward-test.js'
import { trainCommand } from './train-command.js'
import type { Verb } from './verbs.js'

const actions: Readonly<Record<string, Verb>> = { train: trainCommand('reward'), test }
const names = Object.keys(actions)

export function help(args: readonly string[]): string {
  const chosen = names.find(name => args.includes(name))
  if (chosen === undefined) return `${names.map(name => helpOf(name, args)).join('\n\n')}`
  return helpOf(chosen, args)
}

function helpOf(name: string, args: readonly string[]): string {
  const { help: text } = actions[name]!
  return typeof text === 'string' ? text : text(args)
}

export async function run([action, ...rest]: string[]): Promise<number> {
  const verb = action === undefined ? undefined : actions[action]
  if (!verb)
    throw new UsageError(
      action === undefined
        ? `expected an action: ${names.join(' or ')}`
        : `reward: unknown action "${action}"; there are: ${names.join(', ')}${didYouMean(action, names)}`,
    )
  return verb.run(rest)
}
