/** A model or a data set from a directory into a repository of the Hub, as one commit. */
import { pathToFileURL } from 'node:url'
import { type Report, bytes as shownBytes } from '../progress/index.js'
import { HubError } from './errors.js'
import { hubFetch } from './hub-fetch.js'
import { repoFiles } from './listing.js'
import { kindOf, pageOf, type Repo } from './repo.js'
import { isWeights } from './select-files.js'
import { type HubSettings, hubSettings } from './settings.js'
import { type UploadFile, uploadPlan } from './upload-files.js'

export interface PushOptions {
  /** Of a repository that is made now. Default: what its owner has set, mostly public. */
  readonly visibility?: 'private' | undefined
  readonly report: Report
  readonly signal: AbortSignal
  /** A directory of files that go up too, in place of those of the same names. */
  readonly made?: string
  /** Default: what the environment says. */
  readonly settings?: HubSettings
}

export interface Pushed {
  /** The page of the repository. */
  readonly url: string
  readonly commit: string
  readonly files: readonly string[]
}

/**
 * Uploads a directory. The repository is made where it is missing; files of the same names are replaced.
 *
 * @example
 * const report = silentReport
 * const { signal } = new AbortController()
 * const { url } = await pushDirectory('runs/sft', { type: 'model', id: 'me/my-model' }, { report, signal })
 */
export async function pushDirectory(directory: string, repo: Repo, options: PushOptions): Promise<Pushed> {
  const { report, signal, settings = hubSettings(), visibility } = options
  const { endpoint, token } = settings
  if (!/^[^/]+\/[^/]+$/.test(repo.id)) throw new HubError(`${repo.id}: expected org/name, such as my-name/my-model`)
  const plan = await uploadPlan(directory, { type: repo.type, made: options.made })
  if (settings.network === 'offline')
    throw new HubError('HF_HUB_OFFLINE is set', { remedy: 'Unset it to upload something.' })
  if (token === undefined)
    throw new HubError('an upload needs a token', {
      remedy: `Make one with write access on ${endpoint}/settings/tokens, and set HF_TOKEN, or run \`hf auth login\`.`,
    })
  const existing = await makeRepo(repo, { settings, signal, visibility })
  const total = plan.files.reduce((sum, { size }) => sum + size, 0)
  const where = `${repo.id} (${kindOf(repo)}, ${existing === 'made' ? (visibility ?? 'new') : 'exists'})`
  report.line(
    `Pushing ${plan.directory} to ${where} on ${new URL(endpoint).host}: ${plan.files.length} files, ${shownBytes.show(total)}`,
  )
  for (const { path, size } of plan.files) report.line(`  ${path}  ${shownBytes.show(size)}`)
  if (plan.leftOut.length > 0) report.line(`  stays here: ${plan.leftOut.join(', ')}`)
  const outdated = existing === 'made' ? [] : await outdatedWeights(repo, plan.files, { settings, signal })
  if (outdated.length > 0) report.line(`  removed there, because the new weights replace them: ${outdated.join(', ')}`)
  const commit = await upload(repo, { files: plan.files, outdated, total }, { settings, signal, report })
  return { url: pageOf(repo, endpoint), commit, files: plan.files.map(({ path }) => path) }
}

interface Around {
  readonly settings: HubSettings
  readonly signal: AbortSignal
}

async function makeRepo(
  repo: Repo,
  { settings, signal, visibility }: Around & Pick<PushOptions, 'visibility'>,
): Promise<'made' | 'existed'> {
  const { createRepo, HubApiError } = await import('@huggingface/hub')
  try {
    await createRepo({
      repo: { type: repo.type, name: repo.id },
      ...(visibility === undefined ? {} : { visibility }),
      hubUrl: settings.endpoint,
      fetch: hubFetch(settings, { repo, doing: 'write', signal }),
      // The token is added by `fetch`.
      accessToken: '',
    })
    return 'made'
  } catch (error) {
    if (error instanceof HubApiError && error.statusCode === 409) return 'existed'
    throw error
  }
}

/** Weights under other names would be read together with the new ones. */
async function outdatedWeights(
  repo: Repo,
  files: readonly UploadFile[],
  { settings, signal }: Around,
): Promise<string[]> {
  if (repo.type !== 'model' || !files.some(({ path }) => isWeights(path))) return []
  const there = await repoFiles({ repo, revision: 'main', signal }, settings)
  return there.map(({ path }) => path).filter(path => isWeights(path) && !files.some(file => file.path === path))
}

async function upload(
  repo: Repo,
  { files, outdated, total }: { files: readonly UploadFile[]; outdated: readonly string[]; total: number },
  { settings, signal, report }: Around & Pick<PushOptions, 'report'>,
): Promise<string> {
  const { commitIter, HubApiError } = await import('@huggingface/hub')
  const sizes = new Map(files.map(({ path, size }) => [path, size]))
  const done = new Map<string, number>()
  const shown = report.transfer('pushing')
  try {
    const steps = commitIter({
      repo: { type: repo.type, name: repo.id },
      title: `Upload ${kindOf(repo)} with Whetstone`,
      operations: [
        ...files.map(({ path, file }) => ({ operation: 'addOrUpdate', path, content: pathToFileURL(file) }) as const),
        ...outdated.map(path => ({ operation: 'delete', path }) as const),
      ],
      hubUrl: settings.endpoint,
      fetch: hubFetch(settings, { repo, doing: 'write', signal }),
      abortSignal: signal,
      // Chunks of Xet are computed on the event loop, which stands still meanwhile. The Hub takes whole files too.
      useXet: false,
    })
    for (;;) {
      const step = await steps.next()
      if (step.done) return step.value!.commit.oid
      if (step.value.event !== 'fileProgress' || step.value.state !== 'uploading') continue
      done.set(step.value.path, step.value.progress * (sizes.get(step.value.path) ?? 0))
      shown.at(
        [...done.values()].reduce((sum, one) => sum + one, 0),
        total,
      )
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof HubApiError)) throw error
    throw new HubError(`the upload to ${repo.id} failed with status ${error.statusCode}`, {
      cause: error,
      remedy: 'Start again: large files that are there already are not sent again.',
    })
  } finally {
    shown.end()
  }
}
