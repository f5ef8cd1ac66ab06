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

export interface UploadPlan {
  readonly directory: string
  readonly files: readonly UploadFile[]
  /** Names in the directory that stay here. */
  readonly leftOut: readonly string[]
}

/** Beside what a model or a data set is made of: its card and the images in it, the licence, files for Ollama. */
const beside = /^(README\.md|LICENSE[\w.-]*|NOTICE[\w.-]*|Modelfile|[\w.-]+\.(gguf|svg|png))$/
const folders = /^(additional_chat_templates|data|images)$/

/** What a run keeps for itself, and what has no place in a repository. */
export async function uploadPlan(given: string, type: RepoType): Promise<UploadPlan> {
  const directory = await modelOfRun(given, type)
  const files: UploadFile[] = []
  const leftOut: string[] = []
  const look = async (folder: string): Promise<void> => {
    for (const entry of await entriesOf(join(directory, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      const file = join(directory, path)
      const found = await stat(file).catch(() => undefined)
      if (
        found?.isDirectory() &&
        folder === '' &&
        (type === 'dataset' || folders.test(entry.name)) &&
        !entry.name.startsWith('.')
      )
        await look(path)
      else if (found?.isFile() && goesUp(path, type)) files.push({ path, file, size: found.size })
      else leftOut.push(path)
    }
  }
  await look('')
  const content = type === 'model' ? /\.(safetensors|gguf)$/ : /\.(parquet|arrow|jsonl?|csv|tsv)(\.gz|\.zst)?$/
  if (!files.some(({ path }) => content.test(path)))
    throw new InputError(
      `${given} has no ${type === 'model' ? 'model: expected safetensors or GGUF files' : 'data: expected parquet, arrow, JSON or CSV files'}`,
    )
  for (const one of files) await refuseSecrets(one)
  return { directory, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), leftOut }
}

function goesUp(path: string, type: RepoType): boolean {
  const name = basename(path)
  if (name.startsWith('.')) return false
  return isWanted(path, type === 'model' ? 'model' : 'data') || beside.test(name)
}

/** A run directory stands for the model that it made. */
async function modelOfRun(given: string, type: RepoType): Promise<string> {
  const found = await stat(given).catch(() => undefined)
  if (!found?.isDirectory()) throw new InputError(`${given}: there is no such directory`)
  if (type === 'dataset') return given
  for (const name of ['best_model', 'final_model']) {
    const model = await stat(join(given, name)).catch(() => undefined)
    if (model?.isDirectory()) return join(given, name)
  }
  return given
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
