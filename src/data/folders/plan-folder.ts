/** What a folder of a data set holds: configs, their splits, and the files of each. From names alone, so that a repository can be planned before it is fetched. */
import { basename, dirname } from 'node:path'
import { DataError } from '../errors.js'
import { dataEnding } from '../files/row-file.js'
import { pathPattern } from '../patterns.js'
import { type CardConfig, readCard } from './card.js'
import { planSaved } from './saved-folder.js'

/** Names of the files of a split, by split. */
export type Splits = ReadonlyMap<string, readonly string[]>

export interface FolderPlan {
  readonly configs: ReadonlyMap<string, Splits>
  /** The config that is meant where none is named. */
  readonly defaultConfig: string | undefined
}

export interface FolderContents {
  /** What messages call the folder. */
  readonly shown: string
  /** Names of all files, with `/` between folders. */
  readonly names: readonly string[]
  /** The text of one of these files. */
  read(name: string): Promise<string>
}

/**
 * Configs, splits and files of a folder: as `save_to_disk` wrote it, as the header of its README.md says, or as its names say.
 *
 * @example
 * const plan = await planFolder({ shown: 'gsm8k', names: ['main/train-00000-of-00001.parquet'], read: async () => '' })
 */
export async function planFolder(contents: FolderContents): Promise<FolderPlan> {
  const saved = await planSaved(contents)
  if (saved) return { configs: new Map([['default', saved]]), defaultConfig: 'default' }
  const names = contents.names.filter(isDataName).sort()
  const card = contents.names.includes('README.md') ? readCard(await contents.read('README.md'), contents.shown) : []
  const configs = card.length > 0 ? fromCard(card, names, contents.shown) : fromNames(names)
  const named = card.find(({ isDefault }) => isDefault)?.name
  return { configs, defaultConfig: named ?? (configs.has('default') ? 'default' : undefined) }
}

/** Of data sets, and of models. */
const ignored = [
  ...['dataset_info.json', 'dataset_infos.json', 'dataset_dict.json', 'state.json'],
  ...['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json'],
]

function isDataName(name: string): boolean {
  if (dataEnding(name) === undefined || ignored.includes(basename(name))) return false
  return !name.split('/').some(part => part.startsWith('.') || part.startsWith('__'))
}

function fromCard(card: readonly CardConfig[], names: readonly string[], shown: string): Map<string, Splits> {
  const configs = new Map<string, Splits>()
  for (const { name, files, folder } of card) {
    const inside = folder === '' ? names : names.filter(one => one.startsWith(`${folder}/`))
    if (!files) {
      configs.set(name, together([...fromNames(inside).values()]))
      continue
    }
    const splits = new Map<string, string[]>()
    for (const { split, path } of files) {
      if (path.includes('://')) throw new DataError(`${shown}/README.md: ${path}: expected a path of this folder`)
      const matches = pathPattern(folder === '' ? path : `${folder}/${path}`)
      const found = inside.filter(one => matches(one))
      splits.set(split, [...new Set([...(splits.get(split) ?? []), ...found])].sort())
    }
    configs.set(name, splits)
  }
  return configs
}

/** One config of several: splits of the same name are joined. */
function together(configs: readonly Splits[]): Splits {
  const joined = new Map<string, string[]>()
  for (const [split, names] of configs.flatMap(splits => [...splits]))
    joined.set(split, [...(joined.get(split) ?? []), ...names].sort())
  return joined
}

/** Words that name a split, in a file or a folder. */
const words: Readonly<Record<string, readonly string[]>> = {
  train: ['train', 'training'],
  validation: ['validation', 'valid', 'dev', 'val'],
  test: ['test', 'testing', 'eval', 'evaluation'],
}

function splitIn(name: string): string | undefined {
  const parts = name.toLowerCase().split(/[-._ 0-9]+/)
  return Object.keys(words).find(split => words[split]!.some(word => parts.includes(word)))
}

/** A folder is a config, unless it is called `data` or names a split; what names no split is `train`. */
function fromNames(names: readonly string[]): Map<string, Splits> {
  const configs = new Map<string, Map<string, string[]>>()
  for (const name of names) {
    const folders = dirname(name) === '.' ? [] : dirname(name).split('/')
    const named = folders.findLastIndex(folder => splitIn(folder) !== undefined)
    const shard = basename(name).match(/^(\w+(?:\.\w+)*)-\d{5}-of-\d{5}/)?.[1]
    const split = (named >= 0 ? splitIn(folders[named]!) : undefined) ?? shard ?? splitIn(basename(name)) ?? 'train'
    const config = folders.filter((folder, i) => i !== named && !(i === 0 && folder === 'data')).join('/') || 'default'
    const splits = configs.get(config) ?? new Map<string, string[]>()
    splits.set(split, [...(splits.get(split) ?? []), name])
    configs.set(config, splits)
  }
  return configs
}
