/** The logger `mlflow`: runs, metrics, parameters, samples and files on an MLflow server. */
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { z } from 'zod'
import type { Json } from '../exact-json.js'
import {
  byStep,
  type LoggedArtifact,
  type LoggedMetrics,
  type LoggedRun,
  type LoggedSample,
  type Logger,
  type RunEnd,
} from './logger.js'
import { MlflowClient, MlflowError, type MlflowSettings, mlflowSettings } from './mlflow-client.js'

/** What one request may hold. */
const mostMetrics = 1000
const mostParams = 100
const mostTags = 100
/** Characters of a parameter's value: of the server's newer versions, and of older ones. */
const paramLengths = [6000, 500, 250] as const
const tagLength = 5000
const keyLength = 250

const keptSchema = z.object({ runId: z.string() })
const runSchema = z.object({
  info: z.object({ run_id: z.string(), artifact_uri: z.string().default('') }),
  data: z
    .object({
      metrics: z.array(z.object({ key: z.string(), step: z.coerce.number().default(0) })).default([]),
      params: z.array(z.object({ key: z.string(), value: z.string().default('') })).default([]),
    })
    .prefault({}),
})
type MlflowRun = z.output<typeof runSchema>

/**
 * Sends a run to an MLflow server. Settings come from the environment; see {@link mlflowSettings}. A resumed run goes on as the same
 * MLflow run, and a point that the server has is not sent again.
 */
export function mlflowLogger(env: NodeJS.ProcessEnv = process.env): Logger {
  return new MlflowLogger(mlflowSettings(env))
}

class MlflowLogger implements Logger {
  readonly name = 'mlflow'
  readonly #client: MlflowClient
  readonly #experiment: string
  #run: MlflowRun | undefined
  /** The last step of each metric that the server has; undefined where it has to be asked. */
  #sent: Map<string, number> | undefined

  constructor(settings: MlflowSettings) {
    this.#client = new MlflowClient(settings)
    this.#experiment = settings.experiment
  }

  async start(run: LoggedRun, { signal }: { signal: AbortSignal }): Promise<Json> {
    const kept = keptSchema.safeParse(run.kept).data
    const found = kept ? await this.#get(kept.runId, signal) : await this.#findOrCreate(run, signal)
    const { run_id } = found.info
    this.#run = found
    this.#sent = sentOf(found)
    await this.#params(found, run.config, signal)
    const tags = {
      'whetstone.directory': run.directory,
      ...Object.fromEntries(
        Object.entries(run.versions).map(([name, version]) => [`whetstone.version.${name}`, version]),
      ),
      ...(this.#artifacts === undefined
        ? {
            'whetstone.artifacts':
              'not uploaded: the server does not proxy artifacts (mlflow server --serve-artifacts)',
          }
        : {}),
    }
    await this.#tags(tags, signal)
    await this.#client.post('runs/update', { run_id, status: 'RUNNING' }, signal)
    return { runId: run_id }
  }

  async metrics(entries: readonly LoggedMetrics[], { signal }: { signal: AbortSignal }): Promise<void> {
    // After a failure it is not known what the server took.
    const sent = this.#sent ?? sentOf(await this.#get(this.#runId, signal))
    const points = entries.flatMap(({ step, time, values }) =>
      Object.entries(values).map(([name, value]) => ({
        key: keyOf(name),
        value: written(value),
        timestamp: time,
        step,
      })),
    )
    const fresh = points.filter(({ key, step }) => !(step <= (sent.get(key) ?? -1)))
    this.#sent = undefined
    for (let i = 0; i < fresh.length; i += mostMetrics)
      await this.#batch({ metrics: fresh.slice(i, i + mostMetrics) }, signal)
    this.#sent = sent
  }

  /** A table for each step, in MLflow's format. */
  async samples(entries: readonly LoggedSample[], { signal }: { signal: AbortSignal }): Promise<void> {
    for (const samples of byStep(entries)) {
      const rewards = [...new Set(samples.flatMap(({ components }) => Object.keys(components)))]
      const columns = ['step', 'prompt', 'response', 'reward', ...rewards.map(name => `reward/${name}`)]
      const data = samples.map(({ step, prompt, response, reward, components }) => [
        ...[step, prompt, response, reward ?? null],
        ...rewards.map(name => components[name] ?? null),
      ])
      const name = `samples/step_${String(samples[0]!.step).padStart(6, '0')}.json`
      await this.#upload(name, Buffer.from(JSON.stringify({ columns, data })), signal)
    }
  }

  /** Files are uploaded. Models stay where they are, and a tag names them. */
  async artifact({ kind, name, path }: LoggedArtifact, { signal }: { signal: AbortSignal }): Promise<void> {
    if (kind === 'model') return this.#tags({ [`whetstone.model.${name}`]: path }, signal)
    const content = await readFile(path).catch(() => undefined)
    if (content) await this.#upload(name, content, signal)
  }

  async end({ outcome, error, time }: RunEnd, { signal }: { signal: AbortSignal }): Promise<void> {
    const status = { finished: 'FINISHED', stopped: 'KILLED', failed: 'FAILED', crashed: 'FAILED' }[outcome]
    if (error !== undefined) await this.#tags({ 'whetstone.error': error }, signal)
    await this.#client.post('runs/update', { run_id: this.#runId, status, end_time: time }, signal)
  }

  get #runId(): string {
    return this.#run!.info.run_id
  }

  /** Where the server takes artifacts of this run; undefined where it does not. */
  get #artifacts(): string | undefined {
    const uri = this.#run!.info.artifact_uri
    return (
      /^mlflow-artifacts:\/*(?:\/\/[^/]*\/)?(.*)$/.exec(uri)?.[1] ??
      /\/mlflow-artifacts\/artifacts\/(.*)$/.exec(uri)?.[1]
    )
  }

  async #upload(name: string, content: Buffer, signal: AbortSignal): Promise<void> {
    const place = this.#artifacts
    if (place !== undefined) await this.#client.upload(`${place}/${name}`, new Uint8Array(content), signal)
  }

  async #get(runId: string, signal: AbortSignal): Promise<MlflowRun> {
    const answer = await this.#client.get('runs/get', { run_id: runId }, signal).catch((error: unknown) => {
      if (!(error instanceof MlflowError) || error.reason !== 'RESOURCE_DOES_NOT_EXIST') throw error
      throw new MlflowError(
        `the server has no run ${runId} any more; delete logs/loggers/mlflow.json in the run directory to send all to a new one`,
        { cause: error },
      )
    })
    return runSchema.parse(answer.run)
  }

  /** By its tag: a process that died before it wrote down the id made the run already. */
  async #findOrCreate(run: LoggedRun, signal: AbortSignal): Promise<MlflowRun> {
    const experiment_id = await this.#experimentId(signal)
    const filter = `tags.\`whetstone.run\` = '${run.id}'`
    const search = { experiment_ids: [experiment_id], filter, max_results: 1 }
    const { runs = [] } = (await this.#client.post('runs/search', search, signal)) as { runs?: unknown[] }
    if (runs[0] !== undefined) return runSchema.parse(runs[0])
    const tags = {
      'whetstone.run': run.id,
      'whetstone.command': run.command,
      'mlflow.source.name': 'whetstone',
      'mlflow.source.type': 'LOCAL',
      'mlflow.user': userName(),
    }
    const create = { experiment_id, run_name: run.name, start_time: Date.parse(run.created), tags: pairs(tags) }
    return runSchema.parse((await this.#client.post('runs/create', create, signal)).run)
  }

  async #experimentId(signal: AbortSignal): Promise<string> {
    const name = this.#experiment
    const get = async (): Promise<string> => {
      const { experiment } = await this.#client.get('experiments/get-by-name', { experiment_name: name }, signal)
      return (experiment as { experiment_id: string }).experiment_id
    }
    try {
      return await get()
    } catch (error) {
      if (!(error instanceof MlflowError) || error.reason !== 'RESOURCE_DOES_NOT_EXIST') throw error
    }
    try {
      return (await this.#client.post('experiments/create', { name }, signal)).experiment_id as string
    } catch (error) {
      // Another run made it in between.
      if (error instanceof MlflowError && error.reason === 'RESOURCE_ALREADY_EXISTS') return get()
      throw error
    }
  }

  /** A parameter of MLflow cannot change: an option that a resume changed is a tag. */
  async #params(run: MlflowRun, config: Json, signal: AbortSignal): Promise<void> {
    const known = new Map(run.data.params.map(({ key, value }) => [key, value]))
    const options = Object.entries(flat(config)).map(([key, value]) => ({ key: keyOf(key), value }))
    const cut = (length: number) =>
      options.map(({ key, value }) => ({ key, value: [...value].slice(0, length).join('') }))
    const isKnown = (key: string, value: string): boolean =>
      paramLengths.some(n => known.get(key) === value.slice(0, n))
    const changed = options.filter(({ key, value }) => known.has(key) && !isKnown(key, value))
    await this.#tags(Object.fromEntries(changed.map(({ key, value }) => [`whetstone.changed.${key}`, value])), signal)
    for (const [attempt, length] of paramLengths.entries())
      try {
        const fresh = cut(length).filter(({ key }) => !known.has(key))
        for (let i = 0; i < fresh.length; i += mostParams)
          await this.#batch({ params: fresh.slice(i, i + mostParams) }, signal)
        return
      } catch (error) {
        const isTooLong = error instanceof MlflowError && error.status === 400
        if (!isTooLong || attempt === paramLengths.length - 1) throw error
      }
  }

  async #tags(tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const all = pairs(tags)
    for (let i = 0; i < all.length; i += mostTags) await this.#batch({ tags: all.slice(i, i + mostTags) }, signal)
  }

  async #batch(batch: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    await this.#client.post('runs/log-batch', { run_id: this.#runId, ...batch }, signal)
  }
}

const sentOf = ({ data }: MlflowRun): Map<string, number> => new Map(data.metrics.map(({ key, step }) => [key, step]))

/** As protobuf's JSON has it. */
const written = (value: number): number | string => (Number.isFinite(value) ? value : String(value))

/** MLflow takes letters, digits and `_ - . : / space` in names. */
const keyOf = (name: string): string => name.replaceAll(/[^\w\-./: ]/g, '_').slice(0, keyLength)

const pairs = (tags: Readonly<Record<string, string>>): { key: string; value: string }[] =>
  Object.entries(tags).map(([key, value]) => ({ key: keyOf(key), value: value.slice(0, tagLength) }))

/** Options by dotted path. Lists are one value. */
function flat(value: Json | undefined, key = ''): Record<string, string> {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { [key]: typeof value === 'string' ? value : JSON.stringify(value) }
  const inner = Object.entries(value).map(([name, one]) => flat(one, key === '' ? name : `${key}.${name}`))
  return Object.assign({}, ...inner) as Record<string, string>
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown'
  }
}
