/**
 * What the option `rewards` names: a module, a file that lists sources, the directory of a reward model, a rule, or a list of these,
 * whose rewards are added.
 */
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { didYouMean } from '../errors/index.js'
import { isHubName, placedName } from '../source/index.js'
import { RewardConfigError } from './errors.js'
import { plainRules } from './rules/index.js'
import { inFolder, type RewardSpec, readSpec, type SourceSpec } from './spec-schema.js'

/** One name, or several. */
export type RewardNames = string | readonly string[]

/** Names of rules that need no options. In a config they are no paths: `./format` is a file, `format` the rule. */
export const ruleNames: readonly string[] = Object.keys(plainRules)

/** Words that people know rules by. */
const otherWords: Readonly<Record<string, string>> = {
  accuracy: 'exact-match',
  gsm8k: 'numeric-answer',
  math: 'numeric-answer',
}

/** What one name can be; for errors and help. */
export const rewardForms = `a module that exports a reward (.ts, .js, .mjs), a file that lists reward sources (.yaml, .json), a reward model (a directory or an id of the Hub), or a rule (${ruleNames.join(', ')})`

type NamedReward =
  | { readonly kind: 'module' | 'description' | 'model'; readonly path: string }
  | { readonly kind: 'rule'; readonly rule: string }

/** What each name is. What does not exist is an error that says what it could have been. */
export async function namedRewards(names: RewardNames): Promise<NamedReward[]> {
  const list = [names].flat()
  if (list.length === 0) throw new RewardConfigError(`no reward: expected ${rewardForms}`)
  return Promise.all(list.map(namedReward))
}

async function namedReward(name: string): Promise<NamedReward> {
  if (ruleNames.includes(name)) return { kind: 'rule', rule: name }
  const path = placedName(name, 'model', process.cwd())
  if (isHubName(path)) return { kind: 'model', path }
  const found = await stat(path).catch(() => undefined)
  const typed = basename(name)
  if (!found) {
    // A config has made a path of it.
    const word = otherWords[typed.toLowerCase()]
    const meant = word === undefined ? didYouMean(typed, ruleNames) : `; did you mean ${word}?`
    throw new RewardConfigError(`${name}: there is no such file${meant || `; expected ${rewardForms}`}`)
  }
  if (found.isDirectory()) return { kind: 'model', path }
  if (/\.(ya?ml|json)$/i.test(typed)) return { kind: 'description', path }
  if (/\.[cm]?[jt]s$/i.test(typed)) return { kind: 'module', path }
  throw new RewardConfigError(`${name}: expected ${rewardForms}`)
}

/** A module alone may export more than one reward; everything else is a description. */
export async function rewardSpec(names: RewardNames): Promise<RewardSpec | { readonly module: string }> {
  const [first, ...others] = await namedRewards(names)
  if (first!.kind === 'module' && others.length === 0) return { module: first!.path }
  if (first!.kind === 'description' && others.length === 0)
    return inFolder(await readSpec(first!.path), dirname(first!.path))
  return listSpec([first!, ...others])
}

/** The rewards of a list are added: each has the weight 1, and a file that lists sources has its own weights. */
export async function listSpec(named: readonly NamedReward[]): Promise<RewardSpec> {
  const sources: Record<string, SourceSpec> = {}
  const weights: Record<string, number> = {}
  const add = (name: string, source: SourceSpec, weight: number): void => {
    let own = name
    for (let n = 2; Object.hasOwn(sources, own); n++) own = `${name}-${n}`
    sources[own] = source
    weights[own] = weight
  }
  for (const one of named) {
    if (one.kind === 'rule') add(one.rule, { type: 'rule', rule: one.rule } as SourceSpec, 1)
    else if (one.kind === 'model') add(modelName(one.path), { type: 'model', path: one.path }, 1)
    else if (one.kind === 'module')
      add(basename(one.path).replace(/\.\w+$/, ''), { type: 'function', file: one.path }, 1)
    else {
      const spec = inFolder(await readSpec(one.path), dirname(one.path))
      const { sources: own = {}, weights: given, ...rest } = spec
      const more = Object.keys(rest).filter(key => rest[key as keyof typeof rest] !== undefined)
      if (more.length > 0)
        throw new RewardConfigError(
          `${one.path}: ${more.join(', ')}: only for a file that is the only reward; remove the option, or give the file alone`,
        )
      if (Object.keys(own).length > 1 && !given)
        throw new RewardConfigError(`${one.path}: its ${Object.keys(own).length} sources need weights`)
      for (const [name, source] of Object.entries(own)) add(name, source, given?.[name] ?? (given ? 0 : 1))
    }
  }
  return { sources, weights }
}

/** `best_model` of `runs/reward` is called `reward`. */
function modelName(path: string): string {
  const own = basename(path)
  return /^(best|final)_(model|adapter)$/.test(own) ? basename(dirname(path)) || own : own
}
