/** The commit of a revision, and the files of a commit. */
import { HubError } from './errors.js'
import { type Asking, hubFetch } from './hub-fetch.js'
import { isCommit, type Repo, type RepoFile } from './repo.js'
import type { HubSettings } from './settings.js'

/** Loaded when something is asked: most commands ask nothing. */
const library = () => import('@huggingface/hub')

interface RepoQuestion {
  readonly repo: Repo
  readonly revision: string
  readonly signal: AbortSignal
}

/** Of a branch, a tag, or the start of a commit. */
export async function commitOf({ repo, revision, signal }: RepoQuestion, settings: HubSettings): Promise<string> {
  const asking: Asking = { repo, revision, doing: 'read', signal }
  const params = { name: repo.id, revision, hubUrl: settings.endpoint, fetch: hubFetch(settings, asking) }
  const { datasetInfo, modelInfo } = await library()
  const { sha } =
    repo.type === 'dataset'
      ? await datasetInfo({ ...params, additionalFields: ['sha'] })
      : await modelInfo({ ...params, additionalFields: ['sha'] })
  if (typeof sha !== 'string' || !isCommit(sha))
    throw new HubError(`${settings.endpoint} named no commit for ${repo.id}@${revision}`, {
      remedy: 'Check HF_ENDPOINT: the server there does not speak the protocol of the Hub.',
    })
  return sha
}

/** All files of a commit, with the checksums that they must have. */
export async function repoFiles({ repo, revision, signal }: RepoQuestion, settings: HubSettings): Promise<RepoFile[]> {
  const asking: Asking = { repo, revision, doing: 'read', signal }
  const { listFiles } = await library()
  const entries = listFiles({
    repo: { type: repo.type, name: repo.id },
    revision,
    recursive: true,
    hubUrl: settings.endpoint,
    fetch: hubFetch(settings, asking),
  })
  const files: RepoFile[] = []
  for await (const { type, path, size, oid, lfs } of entries) {
    if (type !== 'file') continue
    const etag = lfs?.oid.replace(/^sha256:/, '') ?? oid ?? ''
    // What the server says becomes names of files here.
    if (!isPlainPath(path) || !/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(etag))
      throw new HubError(`${repo.id} has a file that cannot be kept: ${JSON.stringify(path)}`)
    files.push({ path, size: lfs?.size ?? size, etag })
  }
  return files
}

const isPlainPath = (path: string): boolean =>
  path !== '' && path.split('/').every(part => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'))
