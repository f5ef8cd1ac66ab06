/** Fetches one content into the cache: one process at a time, continued where it broke, and kept only with the right checksum. */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSystemError, systemProblem } from '../errors/index.js'
import { fileSha256, type Lock, tryLock } from '../files/index.js'
import { DownloadError, download } from '../http/index.js'
import { refusal, unreachable } from './answers.js'
import type { RepoCache } from './cache.js'
import { HubError } from './errors.js'
import { fileUrl, type RepoFile } from './repo.js'
import type { HubSettings } from './settings.js'

export interface FetchOptions {
  readonly cache: RepoCache
  readonly commit: string
  readonly settings: HubSettings
  readonly signal: AbortSignal
  /** Bytes of this file that are there, now. */
  readonly onBytes: (received: number) => void
  /** Another process fetches the same file. */
  readonly onWait: (path: string) => void
}

/** Another process that gained nothing for this long has died on another machine, or hangs. */
const patienceMs = 300_000
const lookMs = 250

export async function fetchContent(file: RepoFile, options: FetchOptions): Promise<void> {
  const { cache, onBytes } = options
  if (await cache.holds(file)) return onBytes(file.size)
  const lock = await waitForLock(file, options)
  try {
    // The other process may have fetched it.
    if (!(await cache.holds(file))) await fetchLocked(file, options)
    onBytes(file.size)
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new HubError(`${cache.blob(file)}: ${systemProblem(error, 'write')}`, {
      cause: error,
      remedy: 'What is fetched is kept. Make room or choose another directory (HF_HUB_CACHE), and start again.',
    })
  } finally {
    await lock.release()
  }
}

async function fetchLocked(file: RepoFile, { cache, commit, settings, signal, onBytes }: FetchOptions): Promise<void> {
  const { repo } = cache
  const part = cache.incomplete(file)
  const fetched = `${part}.whole`
  await mkdir(dirname(part), { recursive: true })
  const there = (await stat(part).catch(() => undefined))?.size ?? 0
  if (there > file.size) await rm(part, { force: true })
  // A process may have ended between the last byte and the check.
  if (there === file.size) await rename(part, fetched).catch(() => {})
  if (there !== file.size || file.size === 0)
    await download({
      url: fileUrl(repo, commit, file.path, settings.endpoint),
      to: fetched,
      part,
      content: 'fixed',
      headers: {
        'user-agent': 'whetstone',
        ...(settings.token === undefined ? {} : { authorization: `Bearer ${settings.token}` }),
      },
      onBytes,
      signal,
      attempts: 6,
      unreachable: 'retry',
    }).catch(error => explain(error, { cache, commit, settings }))
  const problem = await wrongContent(fetched, file)
  if (problem === undefined) return rename(fetched, cache.blob(file))
  await rm(fetched, { force: true })
  throw new HubError(`${repo.id}: ${file.path} arrived damaged: ${problem}`, {
    remedy:
      'The file was not kept. Start again; if it happens again, the server, or something between here and there, changes it.',
  })
}

function explain(
  error: unknown,
  { cache, commit, settings }: Pick<FetchOptions, 'cache' | 'commit' | 'settings'>,
): never {
  if (!(error instanceof DownloadError)) throw error
  const { answer, message } = error
  if (!answer) throw unreachable(cache.repo, settings, message, error)
  const header = (name: string): string | undefined => {
    const value = answer.headers[name]
    return typeof value === 'string' ? value : undefined
  }
  const [code, said] = [header('x-error-code'), header('x-error-message')]
  const refused = { repo: cache.repo, revision: commit, status: answer.status, code, message: said }
  throw refusal({ ...refused, doing: 'read' }, settings)
}

/** Undefined where a file is what the Hub says it is. */
async function wrongContent(path: string, { size, etag }: RepoFile): Promise<string | undefined> {
  const found = (await stat(path)).size
  if (found !== size) return `it has ${found} bytes, and must have ${size}`
  const isLarge = etag.length === 64
  const sum = isLarge ? await fileSha256(path) : gitBlobId(await readFile(path))
  if (sum === etag) return undefined
  return `its ${isLarge ? 'SHA-256' : 'checksum'} is ${sum}, and must be ${etag}`
}

/** Small files are blobs of git: a header, then the content. */
function gitBlobId(content: Uint8Array): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
}

async function waitForLock(file: RepoFile, options: FetchOptions): Promise<Lock> {
  const { cache, signal, onWait, onBytes } = options
  await mkdir(cache.locks, { recursive: true })
  const path = join(cache.locks, `${file.etag}.whetstone.lock`)
  const size = async (): Promise<number> => (await stat(cache.incomplete(file)).catch(() => undefined))?.size ?? 0
  let [seen, since] = [-1, Date.now()]
  for (;;) {
    const taken = await tryLock(path)
    if ('lock' in taken) return taken.lock
    if (seen === -1) onWait(file.path)
    const now = await size()
    if (now !== seen) [seen, since] = [now, Date.now()]
    onBytes(Math.min(now, file.size))
    const { pid, host } = taken.holder
    if (Date.now() - since > patienceMs)
      throw new HubError(`${file.path} is being fetched by process ${pid} on ${host}, which gains nothing`, {
        remedy: `End that process, or delete ${path} if it is gone.`,
      })
    await sleep(lookMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}
