/** Which files of a repository are fetched. */
import { processorFiles, tokenizerFiles } from '../files/index.js'
import { HubError } from './errors.js'
import { kindOf, pageOf, type Repo, type RepoFile } from './repo.js'

/** What a repository is wanted for. */
export type Wanted = 'model' | 'tokenizer' | 'data'

const modelNames = [
  ...tokenizerFiles,
  ...processorFiles,
  'config.json',
  'generation_config.json',
  'adapter_config.json',
  'README.md',
]
const weights = /^(model(-(r\d+-)?\d{5,}-of-\d{5,})?|adapter_model)\.safetensors(\.index\.json)?$/
const isTokenizerFile = (path: string): boolean =>
  tokenizerFiles.includes(path) || /^additional_chat_templates\/[^/]+\.jinja$/.test(path)
const dataFile = /\.(parquet|arrow|jsonl|json|csv|tsv)(\.gz|\.zst)?$/i

const picks: Readonly<Record<Wanted, (path: string) => boolean>> = {
  model: path => isTokenizerFile(path) || modelNames.includes(path) || weights.test(path),
  tokenizer: isTokenizerFile,
  data: path => path === 'README.md' || dataFile.test(path),
}

/** Whether a file is of what a repository is wanted for. */
export const isWanted = (path: string, wanted: Wanted): boolean => picks[wanted](path)

export const isWeights = (path: string): boolean => weights.test(path)

/** The files to fetch; a repository that has nothing to use is refused. */
export function selectFiles(repo: Repo, files: readonly RepoFile[], wanted: Wanted, endpoint: string): RepoFile[] {
  const chosen = files.filter(({ path }) => picks[wanted](path))
  const problem = missingPart(files, chosen, wanted)
  if (!problem) return chosen
  const { what, remedy } = problem
  throw new HubError(`the ${kindOf(repo)} ${repo.id} ${what}`, {
    remedy: remedy ?? `${pageOf(repo, endpoint)}/tree/main shows its files.`,
  })
}

/** What a directory lacks to be used, from the names of its files; undefined where nothing is. */
export function missingPart(
  all: readonly Pick<RepoFile, 'path'>[],
  chosen: readonly Pick<RepoFile, 'path'>[],
  wanted: Wanted,
): { what: string; remedy?: string } | undefined {
  const has = (list: readonly { path: string }[], test: RegExp): boolean => list.some(({ path }) => test.test(path))
  if (wanted === 'data') {
    if (has(chosen, dataFile)) return undefined
    if (has(all, /\.py$/))
      return {
        what: 'has a loading script and no data files',
        remedy:
          'Scripts are not run. Give the revision refs/convert/parquet, where the Hub keeps it as parquet: ID@refs/convert/parquet.',
      }
    return { what: 'has no parquet, arrow, JSON or CSV files' }
  }
  if (wanted === 'tokenizer') return has(chosen, /^tokenizer\.json$/) ? undefined : { what: 'has no tokenizer.json' }
  if (has(chosen, /\.safetensors$/)) {
    if (has(chosen, /^(adapter_)?config\.json$/)) return undefined
    return { what: 'has weights and no config.json' }
  }
  if (has(all, /\.gguf$/i))
    return { what: 'has GGUF files and no safetensors', remedy: 'Download one of the files, and give its path.' }
  if (has(all, /\.(bin|pt|pth|ckpt|pkl)$/i))
    return {
      what: 'has its weights as pickles alone',
      remedy:
        'Pickles can run code and are not read. Look for a copy with safetensors; the Hub has a tool that proposes one as a pull request (https://huggingface.co/spaces/safetensors/convert), which ID@refs/pr/NUMBER then names.',
    }
  return { what: 'has no model.safetensors' }
}
