/** Which files of a directory are uploaded. Nothing else leaves the machine: no checkpoints, no logs, no keys. */
import { open, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputError, systemProblem } from '../errors/index.js'
import { HubError } from './errors.js'
import type { RepoType } from './repo.js'
import { isWanted } from './select-files.js'

export interface UploadFile {
  /** In the repository. */
  readonly path: string
  readonly file: string
  readonly size: number
}

interface UploadPlan {
  readonly directory: string
  readonly files: readonly UploadFile[]
  /** Names in the directory that stay here. */
  readonly leftOut: readonly string[]
}

/** Beside what a model or a data set is made of: its card and the images in it, the licence, files for Ollama. */
const beside = /^(README\.md|LICENSE[\w.-]*|NOTICE[\w.-]*|Modelfile|[\w.-]+\.(gguf|svg|png))$/
const folders = /^(additional_chat_templates|data|images)$/

interface UploadOptions {
  readonly type: RepoType
  /** A directory of files that go up too, in place of those of the same names. */
  readonly made?: string | undefined
}

/** Which files go up, checked before anything is sent. */
export async function uploadPlan(directory: string, { type, made }: UploadOptions): Promise<UploadPlan> {
  const found = await stat(directory).catch(() => undefined)
  if (!found?.isDirectory()) throw new InputError(`${directory}: there is no such directory`)
  const files = new Map<string, UploadFile>()
  const leftOut: string[] = []
  for (const root of [directory, ...(made === undefined ? [] : [made])]) await look(root, '', { type, files, leftOut })
  const content = type === 'model' ? /\.(safetensors|gguf)$/ : /\.(parquet|arrow|jsonl?|csv|tsv)(\.gz|\.zst)?$/
  if (![...files.keys()].some(path => content.test(path)))
    throw new InputError(
      `${directory} has no ${type === 'model' ? 'model: expected safetensors or GGUF files' : 'data: expected parquet, arrow, JSON or CSV files'}`,
    )
  for (const one of files.values()) await refuseSecrets(one)
  return { directory, files: [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), leftOut }
}

interface Found {
  readonly type: RepoType
  readonly files: Map<string, UploadFile>
  readonly leftOut: string[]
}

async function look(root: string, folder: string, into: Found): Promise<void> {
  const { type, files, leftOut } = into
  for (const { name } of await entriesOf(join(root, folder))) {
    const path = folder === '' ? name : `${folder}/${name}`
    const file = join(root, path)
    const found = await stat(file).catch(() => undefined)
    const isSearched = folder === '' && (type === 'dataset' || folders.test(name)) && !name.startsWith('.')
    if (found?.isDirectory() && isSearched) await look(root, path, into)
    else if (found?.isFile() && goesUp(path, type)) files.set(path, { path, file, size: found.size })
    else leftOut.push(path)
  }
}

function goesUp(path: string, type: RepoType): boolean {
  const name = basename(path)
  if (name.startsWith('.')) return false
  return isWanted(path, type === 'model' ? 'model' : 'data') || beside.test(name)
}

async function entriesOf(directory: string) {
  const entries = await readdir(directory, { withFileTypes: true }).catch(error => {
    throw new InputError(`${directory}: ${systemProblem(error, 'read')}`, { cause: error })
  })
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Keys that people paste into configs and cards by mistake. */
const secrets: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['a token of the Hub', /\bhf_[A-Za-z0-9]{20,}/],
  ['a key of OpenAI', /\bsk-[A-Za-z0-9_-]{20,}/],
  ['a token of GitHub', /\bgh[pousr]_[A-Za-z0-9]{30,}/],
  ['a key of AWS', /\bAKIA[0-9A-Z]{16}\b/],
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
]
const textFile = /(\.(json|md|jinja|txt)|Modelfile|LICENSE[\w.-]*)$/
const mostText = 4 << 20

async function refuseSecrets({ path, file, size }: UploadFile): Promise<void> {
  // A vocabulary is no place for keys, and is large.
  if (!textFile.test(path) || /^(tokenizer|vocab)\.json$/.test(path)) return
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(size, mostText)), 0)
    const text = buffer.toString('utf8', 0, bytesRead)
    const found = secrets.find(([, pattern]) => pattern.test(text))
    if (found)
      throw new HubError(`${path} contains ${found[0]}: nothing was uploaded`, {
        remedy: `Remove it from ${file}, and revoke it if others could read it.`,
      })
  } finally {
    await handle.close()
  }
}
