/** Which files of a data set are meant. */
import { didYouMean } from '../../errors/index.js'
import { DataError } from '../errors.js'
import { dataEnding } from '../files/row-file.js'
import type { FolderPlan, Splits } from './plan-folder.js'

/** What is asked for: `config` and `split`, or `name`, which is `CONFIG/SPLIT`, a config or a split. */
export interface SplitChoice {
  readonly config?: string | undefined
  readonly split?: string | undefined
  readonly name?: string | undefined
}

export interface ChosenSplit {
  readonly config: string
  readonly split: string
  /** By name. */
  readonly files: readonly string[]
}

/**
 * The files that are meant. What is not named is the only config or split, else the config `default` and the split `train`; otherwise an
 * error lists what there is.
 */
export function chooseSplit(plan: FolderPlan, choice: SplitChoice, shown: string): ChosenSplit {
  if (plan.configs.size === 0)
    throw new DataError(`${shown}: no data files in this folder (.jsonl, .json, .csv, .tsv, .txt, .parquet or .arrow)`)
  const asked = choice.name === undefined ? choice : askedBy(choice.name, plan, shown)
  const config = chooseConfig(plan, asked, shown)
  const splits = plan.configs.get(config)!
  const split = chooseOne([...splits.keys()], asked.split, 'train')
  if (split === undefined) throw unknown(plan, shown, 'split', asked.split, [...splits.keys()])
  const files = splits.get(split)!
  if (files.length === 0) throw new DataError(`${shown}: the split ${split} of ${config} has no files here; fetch them`)
  return { config, split, files: ofOneKind(files, shown) }
}

function askedBy(name: string, plan: FolderPlan, shown: string): SplitChoice {
  const { configs } = plan
  const isSplit = [...configs.values()].some(splits => splits.has(name))
  if (configs.has(name) && isSplit && configs.size > 1)
    throw new DataError(`${shown}:${name}: a config and a split are called so; write ${shown}:CONFIG/SPLIT`)
  if (isSplit) return { split: name }
  if (configs.has(name)) return { config: name }
  const at = name.lastIndexOf('/')
  if (at > 0) return { config: name.slice(0, at), split: name.slice(at + 1) }
  throw unknown(plan, shown, 'config or split', name, [
    ...configs.keys(),
    ...[...configs.values()].flatMap(splits => [...splits.keys()]),
  ])
}

function chooseConfig({ configs, defaultConfig }: FolderPlan, { config, split }: SplitChoice, shown: string): string {
  const chosen = chooseOne([...configs.keys()], config, defaultConfig)
  if (chosen !== undefined) return chosen
  const having = [...configs].filter(([, splits]) => split !== undefined && splits.has(split))
  if (config === undefined && having.length === 1) return having[0]![0]
  throw unknown({ configs, defaultConfig }, shown, 'config', config, [...configs.keys()])
}

function chooseOne(names: readonly string[], asked: string | undefined, usual: string | undefined): string | undefined {
  if (asked !== undefined) return names.includes(asked) ? asked : undefined
  if (names.length === 1) return names[0]
  return usual !== undefined && names.includes(usual) ? usual : undefined
}

function unknown(
  { configs }: FolderPlan,
  shown: string,
  what: string,
  asked: string | undefined,
  known: readonly string[],
): DataError {
  const problem = asked === undefined ? `it has several: choose a ${what}` : `no ${what} is called ${asked}`
  const meant = asked === undefined ? '' : didYouMean(asked, [...new Set(known)])
  const spelling = configs.size > 1 ? 'CONFIG/SPLIT' : 'SPLIT'
  return new DataError(`${shown}: ${problem}${meant}; there is ${listed(configs)}: write ${shown}:${spelling}`)
}

function listed(configs: ReadonlyMap<string, Splits>): string {
  if (configs.size === 1) return [...[...configs.values()][0]!.keys()].join(', ')
  return [...configs].map(([name, splits]) => `${name} (${[...splits.keys()].join(', ')})`).join(', ')
}

/** Files of one kind; notes beside data are text files. */
function ofOneKind(files: readonly string[], shown: string): readonly string[] {
  const data = files.filter(file => dataEnding(file) !== '.txt')
  const used = data.length > 0 ? data : files
  const kinds = [...new Set(used.map(file => dataEnding(file)))]
  if (kinds.length > 1)
    throw new DataError(
      `${shown}: has ${kinds.join(' and ')} files, such as ${used[0]}; say which with a pattern: ${shown}/**/*${kinds[0]}`,
    )
  return used
}
