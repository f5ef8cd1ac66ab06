/** A commit of a repository as a directory of the cache, fetched where it is missing. */
import { readFile, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Report, bytes as shownBytes } from '../progress/index.js'
import { offlineWithout } from './answers.js'
import { RepoCache } from './cache.js'
import { HubError, UnreachableError } from './errors.js'
import { fetchContent } from './fetch-content.js'
import { commitOf, repoFiles } from './listing.js'
import { isCommit, type Repo, type RepoFile } from './repo.js'
import { missingPart, selectFiles, type Wanted } from './select-files.js'
import { type HubSettings, hubSettings } from './settings.js'

/** The names of all files of a commit, and the texts of small ones. */
interface CommitContents {
  readonly names: readonly string[]
  read(name: string): Promise<string>
}

/** Which files of a data set are fetched: `all`, or those with these names. */
export type ChooseFiles = (contents: CommitContents) => Promise<readonly string[] | 'all'>

export interface SnapshotOptions {
  readonly wanted: Wanted
  /** Default: all that are wanted. The card comes too. */
  readonly choose?: ChooseFiles | undefined
  /** A branch, a tag or a commit. Default: `main`. */
  readonly revision?: string | undefined
  readonly report: Report
  readonly signal: AbortSignal
  /** Default: what the environment says. */
  readonly settings?: HubSettings
}

interface Snapshot {
  readonly directory: string
  readonly commit: string
}

/** Files that are fetched at the same time. */
const atOnce = 4

/**
 * The directory of a repository at a commit. A commit whose files are there is used without the network.
 *
 * @example
 * const report = silentReport
 * const { signal } = new AbortController()
 * const { directory, commit } = await snapshot({ type: 'model', id: 'org/name' }, { wanted: 'model', report, signal })
 */
export async function snapshot(repo: Repo, options: SnapshotOptions): Promise<Snapshot> {
  const { revision = 'main', wanted, report, settings = hubSettings() } = options
  const cache = new RepoCache(settings.cache, repo)
  const given = { ...options, revision, settings }
  const known = await kept(cache, given)
  if (known && isCommit(revision) && (wanted !== 'data' || known.listed)) return withoutList(known)
  if (settings.network === 'offline') {
    if (known) return withoutList(known)
    throw offlineWithout(repo, revision, settings)
  }
  try {
    return await fetchSnapshot(cache, given)
  } catch (error) {
    if (!(error instanceof UnreachableError) || !known) throw error
    report.line(`${error.message}: ${repo.id} is used as the cache has it, at commit ${known.commit.slice(0, 8)}.`)
    return withoutList(known)
  }
}

type Given = SnapshotOptions & { readonly revision: string; readonly settings: HubSettings }

const withoutList = ({ directory, commit }: Snapshot): Snapshot => ({ directory, commit })

/** What the cache has, where it has all that is needed. `listed`: the files that the commit should have are known. */
async function kept(cache: RepoCache, given: Given): Promise<(Snapshot & { listed: boolean }) | undefined> {
  const commit = await cache.commitOf(given.revision)
  if (commit === undefined) return undefined
  const directory = cache.snapshot(commit)
  const paths = await cache.files(commit)
  const all = await cache.listing(commit)
  if (all) {
    // What cannot be chosen from what is here has to be asked of the Hub, which gives the reason too.
    const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8')
    const files = await wantedFiles(cache.repo, all, { ...given, read }).catch(() => undefined)
    return files?.every(({ path }) => paths.includes(path)) ? { directory, commit, listed: true } : undefined
  }
  // Another tool filled the cache.
  const there = paths.map(path => ({ path }))
  if (missingPart(there, there, given.wanted) || lacksShards(there)) return undefined
  return { directory, commit, listed: false }
}

async function wantedFiles(
  repo: Repo,
  all: readonly RepoFile[],
  { wanted, choose, settings, read }: Given & Pick<CommitContents, 'read'>,
): Promise<readonly RepoFile[]> {
  const files = selectFiles(repo, all, wanted, settings.endpoint)
  const chosen = (await choose?.({ names: all.map(({ path }) => path), read })) ?? 'all'
  return chosen === 'all' ? files : files.filter(({ path }) => path === 'README.md' || chosen.includes(path))
}

/** Names of shards say how many there are. */
function lacksShards(there: readonly { path: string }[]): boolean {
  const shard = /^model-(?:r\d+-)?\d{5,}-of-(\d{5,})\.safetensors$/
  const counts = there.flatMap(({ path }) => shard.exec(path)?.slice(1) ?? [])
  return counts.length > 0 && counts.length < Number(counts[0])
}

async function fetchSnapshot(cache: RepoCache, given: Given): Promise<Snapshot> {
  const { revision, settings, signal } = given
  const { repo } = cache
  const commit = isCommit(revision) ? revision : await commitOf({ repo, revision, signal }, settings)
  const all = await repoFiles({ repo, revision: commit, signal }, settings)
  const read = async (name: string): Promise<string> => {
    const file = all.find(({ path }) => path === name)!
    await fetchContent(file, { cache, commit, settings, signal, onBytes: () => {}, onWait: () => {} })
    return readFile(cache.blob(file), 'utf8')
  }
  const files = await wantedFiles(repo, all, { ...given, read })
  await fetchFiles(cache, commit, files, given)
  // Links appear when every content is there: a directory that is cut off looks empty, not complete.
  await cache.keepListing(commit, all)
  for (const file of files) await cache.link(commit, file)
  await cache.writeRef(revision, commit)
  return { directory: cache.snapshot(commit), commit }
}

async function fetchFiles(
  cache: RepoCache,
  commit: string,
  files: readonly RepoFile[],
  { report, signal, settings }: SnapshotOptions & { settings: HubSettings },
): Promise<void> {
  const missing = await asyncFilter(files, async file => !(await cache.holds(file)))
  // Two paths may have one content.
  const contents = [...new Map(missing.map(file => [file.etag, file])).values()].sort((a, b) => b.size - a.size)
  if (contents.length === 0) return
  const total = contents.reduce((sum, { size }) => sum + size, 0)
  const { host } = new URL(settings.endpoint)
  report.line(
    `Fetching ${cache.repo.id} at commit ${commit.slice(0, 8)} from ${host}: ${counted(contents.length, files.length)}, ${shownBytes.show(total)}, into ${cache.directory}`,
  )
  await checkSpace(cache, total)
  const received = new Map<string, number>()
  const shown = report.transfer('fetching')
  const stop = new AbortController()
  const stops = AbortSignal.any([signal, stop.signal])
  const queue = [...contents]
  const work = async (): Promise<void> => {
    for (let file = queue.shift(); file; file = queue.shift()) {
      const { etag } = file
      await fetchContent(file, {
        cache,
        commit,
        settings,
        signal: stops,
        onBytes: bytes => {
          received.set(etag, bytes)
          shown.at(
            [...received.values()].reduce((sum, one) => sum + one, 0),
            total,
          )
        },
        onWait: path => report.line(`Another process fetches ${path}: waiting for it.`),
      })
    }
  }
  try {
    const workers = Array.from({ length: Math.min(atOnce, contents.length) }, work)
    const first = Promise.all(workers)
    first.catch(error => stop.abort(error))
    await first.finally(() => Promise.allSettled(workers))
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    shown.end()
  }
}

const counted = (missing: number, all: number): string =>
  missing === all ? `${all} ${all === 1 ? 'file' : 'files'}` : `${missing} of ${all} files`

/** Bytes that are there already count as missing: the estimate errs on the safe side by less than a file. */
async function checkSpace(cache: RepoCache, needed: number): Promise<void> {
  const free = await freeBytes(cache.directory)
  if (free === undefined || free > needed) return
  throw new HubError(
    `${cache.repo.id} needs ${shownBytes.show(needed)}, and ${cache.directory} has ${shownBytes.show(free)} left`,
    {
      remedy: 'Make room, or set HF_HUB_CACHE to a directory on another disk.',
    },
  )
}

/** Of the disk that a directory is on, or will be. */
async function freeBytes(directory: string): Promise<number | undefined> {
  const found = await statfs(directory).catch(() => undefined)
  if (found) return found.bavail * found.bsize
  return dirname(directory) === directory ? undefined : freeBytes(dirname(directory))
}

async function asyncFilter<T>(list: readonly T[], test: (one: T) => Promise<boolean>): Promise<T[]> {
  const kept = await Promise.all(list.map(test))
  return list.filter((_, i) => kept[i])
}
