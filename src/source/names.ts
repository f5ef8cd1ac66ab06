/**
 * What the name of a model or of a data set means. A path that exists wins over an id of the Hub; `hf:` forces the Hub:
 *
 *     runs/sft/final_model                    a directory
 *     models/model.Q4_K_M.gguf                a GGUF file, imported into the cache
 *     Qwen/Qwen2.5-0.5B-Instruct              an id, where there is no such path
 *     hf:Qwen/Qwen2.5-0.5B-Instruct@main      an id at a branch, a tag or a commit
 *     openai/gsm8k:main/train                 a data set, its config and its split
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { InputError } from '../errors/index.js'

export type NameKind = 'model' | 'data'

interface HubName {
  /** `org/name`. */
  readonly id: string
  readonly revision?: string
  /** Of a data set: `config`, `split` or `config/split`. */
  readonly part?: string
}

const prefix = 'hf:'
const word = '[\\w][\\w.-]*'
const idPattern = new RegExp(`^(${word}/${word})(?:@([^:@]+))?(?::(.+))?$`)
/** After `hf:` a name alone is an id too: some old models have no organisation. */
const forcedPattern = new RegExp(`^(${word}(?:/${word})?)(?:@([^:@]+))?(?::(.+))?$`)
/** Names of files, and patterns of such names, are never ids. */
const fileName = /[*?{[\]]|\.(jsonl?|csv|tsv|txt|parquet|arrow|ya?ml|gguf|safetensors|bin|jinja|[cm]?[jt]s|gz|zst)$/i

/** Folders of most projects: a path there that does not exist is a mistake, and is not asked of the Hub. */
const folders = [
  ...[
    'data',
    'dataset',
    'datasets',
    'model',
    'models',
    'runs',
    'run',
    'checkpoint',
    'checkpoints',
    'output',
    'outputs',
  ],
  ...['out', 'results', 'examples', 'recipes', 'tmp', 'test', 'tests', 'src', 'docs'],
]

/** Undefined where the name is a path. */
export function parseHubName(name: string, kind: NameKind): HubName | undefined {
  const forced = name.startsWith(prefix)
  const [, id, revision, part] = (forced ? forcedPattern : idPattern).exec(forced ? name.slice(3) : name) ?? []
  const fits =
    id !== undefined && !(revision ?? '').split('/').includes('..') && (part === undefined || kind === 'data')
  if (!fits) {
    if (!forced) return undefined
    const shape =
      kind === 'data'
        ? 'hf:org/name, hf:org/name@revision or hf:org/name:config/split'
        : 'hf:org/name or hf:org/name@revision'
    throw new InputError(`${name}: expected ${shape}`)
  }
  if (!forced && (fileName.test(id) || folders.includes(id.split('/')[0]!))) return undefined
  return { id, ...(revision === undefined ? {} : { revision }), ...(part === undefined ? {} : { part }) }
}

/** As `hf:org/name@revision:config/split`, which means one thing wherever it is read. */
export function hubName({ id, revision, part }: HubName): string {
  return `${prefix}${id}${revision === undefined ? '' : `@${revision}`}${part === undefined ? '' : `:${part}`}`
}

/**
 * A name for all that follows: an absolute path, or an id with `hf:` in front. A relative path is looked for in `directory`.
 *
 * @example
 * placedName('Qwen/Qwen2.5-0.5B-Instruct', 'model', '.') // hf:Qwen/Qwen2.5-0.5B-Instruct, where no such directory is here
 */
export function placedName(name: string, kind: NameKind, directory: string): string {
  const path = resolve(directory, name)
  if (!name.startsWith(prefix) && existsSync(path)) return path
  const meant = parseHubName(name, kind)
  if (!meant || (meant.part !== undefined && isFolderPart(name, meant.part, directory))) return path
  return hubName(meant)
}

/** `folder:config/split` of a folder that exists. */
const isFolderPart = (name: string, part: string, directory: string): boolean =>
  !name.startsWith(prefix) && existsSync(resolve(directory, name.slice(0, -part.length - 1)))

export const isHubName = (name: string): boolean => name.startsWith(prefix)
