import { z } from 'zod'
import { didYouMean } from '../errors/index.js'
import {
  advantageEstimators,
  advantageOptionsSchema,
  advantageOptionsShape,
  estimatorHints,
  type ResolvedAdvantageOptions,
} from '../maths/index.js'
import { flagName, UsageError } from './flags.js'

/** The options of the config as flags: every one but the estimator, which has a shorter name and is one of ours here. */
const { advantageEstimator: _, estimatorOptions: __, ...shape } = advantageOptionsShape
const names = Object.keys(shape) as (keyof typeof shape)[]
const isSwitch = (name: keyof typeof shape) => shape[name].safeParse(true).success
const isNumber = (name: keyof typeof shape) => shape[name].safeParse(1).success
const flagOf = (name: string) => flagName(name).slice(2)

/** Replaces option names in a text by their flags. */
export function withFlagNames(text: string): string {
  return text
    .replace(/\badvantageEstimator\b/g, '--estimator')
    .replace(/\b[a-z]+(?:[A-Z][a-z]*)+\b|\bgamma\b|\blambd\b/g, name => (name in shape ? `--${flagOf(name)}` : name))
}

export const advantageFlags = {
  estimator: { type: 'string' },
  ...Object.fromEntries(
    names.map(name => [flagOf(name), { type: isSwitch(name) ? ('boolean' as const) : ('string' as const) }]),
  ),
} as const

export const advantageHelp = [
  `  --estimator NAME                     ${advantageEstimators.join(', ')}`,
  ...names.map(name => {
    const value = isSwitch(name) ? '' : isNumber(name) ? ' X' : ' NAME'
    const initial = shape[name].safeParse(undefined).data
    const ending = typeof initial === 'number' ? ` (default ${initial})` : ''
    return `  ${`--${flagOf(name)}${value}`.padEnd(36)} ${withFlagNames(shape[name].description ?? '')}${ending}`
  }),
].join('\n')

/** Accepts a switch followed by true or false, as other tools write it: removes the word, and with false also the switch. */
export function foldSwitches(args: readonly string[]): string[] {
  const switches = new Set(names.filter(isSwitch).map(name => `--${flagOf(name)}`))
  const folded: string[] = []
  for (let i = 0; i < args.length; i++) {
    const [name, given] = switches.has(args[i]!)
      ? [args[i]!, args[i + 1]]
      : (args[i]!.split('=', 2) as [string, string?])
    if (!switches.has(name) || (given !== 'true' && given !== 'false')) {
      folded.push(args[i]!)
      continue
    }
    if (given === 'true') folded.push(name)
    if (args[i] === name) i++
  }
  return folded
}

/** The options of the command line, checked together. */
export function advantageOptions(values: Readonly<Record<string, unknown>>): ResolvedAdvantageOptions {
  const given: Record<string, unknown> = { advantageEstimator: estimatorNamed(values.estimator) }
  for (const name of names) {
    const value = values[flagOf(name)]
    if (value === undefined) continue
    given[name] = isNumber(name) ? numberOf(flagOf(name), String(value)) : value
  }
  const checked = advantageOptionsSchema.safeParse(given)
  if (checked.success) return checked.data
  const [issue] = checked.error.issues
  throw new UsageError(
    `--${flagOf(String(issue?.path[0]))}: ${withFlagNames(issue?.message ?? z.prettifyError(checked.error))}`,
  )
}

function estimatorNamed(name: unknown): string {
  const known = advantageEstimators.join(', ')
  if (typeof name !== 'string') throw new UsageError(`--estimator: expected one of ${known}`)
  if ((advantageEstimators as readonly string[]).includes(name)) return name
  const hint = estimatorHints[name.toLowerCase()]
  throw new UsageError(
    hint
      ? `--estimator: there is no "${name}"; ${withFlagNames(hint)}`
      : `--estimator: expected one of ${known}, got "${name}"${didYouMean(name, advantageEstimators)}`,
  )
}

/** Checked as text: `Number('')` is 0. */
function numberOf(flag: string, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`--${flag}: expected a number, got "${text}"`)
  return value
}
