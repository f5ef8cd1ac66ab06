/**
 * The cache that Python's `huggingface_hub` and others share: `models--org--name/` holds each content once in `blobs/`, a tree of
 * links for each commit in `snapshots/`, and the commit of each branch in `refs/`.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { systemProblem } from '../errors/index.js'
import { makeDirectory, writeFileAtomic } from '../files/index.js'
import { HubError } from './errors.js'
import { isCommit, type Repo, type RepoFile } from './repo.js'

export class RepoCache {
  readonly directory: string
  /** Locks of the contents that are being fetched. */
  readonly locks: string

  constructor(
    root: string,
    readonly repo: Repo,
  ) {
    const folder = [`${repo.type}s`, ...repo.id.split('/')].join('--')
    this.directory = join(root, folder)
    this.locks = join(root, '.locks', folder)
  }

  snapshot(commit: string): string {
    return join(this.directory, 'snapshots', commit)
  }

  blob({ etag }: Pick<RepoFile, 'etag'>): string {
    return join(this.directory, 'blobs', etag)
  }

  /** Bytes of a content that is not whole yet. Python's tools have names of their own for theirs: two writers would mix. */
  incomplete(file: Pick<RepoFile, 'etag'>): string {
    return `${this.blob(file)}.whetstone.incomplete`
  }

  /** The commit that a branch or a tag had when it was last looked at; a commit is itself. */
  async commitOf(revision: string): Promise<string | undefined> {
    if (isCommit(revision)) return revision
    const text = await readFile(join(this.directory, 'refs', revision), 'utf8').catch(() => undefined)
    const commit = text?.trim()
    return commit !== undefined && isCommit(commit) ? commit : undefined
  }

  async writeRef(revision: string, commit: string): Promise<void> {
    if (isCommit(revision) || (await this.commitOf(revision)) === commit) return
    const path = join(this.directory, 'refs', revision)
    await writing(path, async () => {
      await makeDirectory(dirname(path))
      await writeFileAtomic(path, commit)
    })
  }

  /** All files that a commit has, also those that are not here; undefined where no fetch of ours has asked. */
  async listing(commit: string): Promise<RepoFile[] | undefined> {
    const text = await readFile(this.#listing(commit), 'utf8').catch(() => undefined)
    return text === undefined ? undefined : (JSON.parse(text) as RepoFile[])
  }

  async keepListing(commit: string, files: readonly RepoFile[]): Promise<void> {
    const path = this.#listing(commit)
    await writing(path, async () => {
      await makeDirectory(dirname(path))
      await writeFileAtomic(path, JSON.stringify(files))
    })
  }

  /** Other tools look into `blobs`, `refs` and `snapshots` alone. */
  #listing(commit: string): string {
    return join(this.directory, '.whetstone', `${commit}.json`)
  }

  /** Paths of the files of a commit that are there; a link whose content is gone is not there. */
  async files(commit: string): Promise<string[]> {
    const root = this.snapshot(commit)
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
    const paths = entries.filter(entry => !entry.isDirectory()).map(entry => join(entry.parentPath, entry.name))
    const found = paths.filter(path => existsSync(path))
    return found.map(path => relative(root, path).split(sep).join('/')).sort()
  }

  /** Whether the content of a file is there, with the size that it must have. */
  async holds(file: RepoFile): Promise<boolean> {
    return (await stat(this.blob(file)).catch(() => undefined))?.size === file.size
  }

  /** A link at its place in the snapshot. Another process may do the same at the same time. */
  async link(commit: string, file: RepoFile): Promise<void> {
    const path = join(this.snapshot(commit), ...file.path.split('/'))
    const target = relative(dirname(path), this.blob(file))
    await writing(path, async () => {
      if (existsSync(path)) return
      await makeDirectory(dirname(path))
      const next = `${path}.${randomUUID()}`
      try {
        await symlink(target, next)
        await rename(next, path)
      } finally {
        await rm(next, { force: true })
      }
    })
  }
}

async function writing<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new HubError(`${path}: ${systemProblem(error, 'write')}`, {
      cause: error,
      remedy: 'The cache of the Hub can be elsewhere: set HF_HUB_CACHE to another directory.',
    })
  }
}
