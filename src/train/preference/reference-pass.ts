/**
 * Scores everything that training needs with the reference, before the first step: with the initial policy, or with the model of
 * the config, which is disposed afterwards.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ExampleSet, ExampleStream, Examples } from '../../data/index.js'
import type { TokenModel } from '../../model/index.js'
import { count } from '../../progress/index.js'
import type { RunInputs } from '../../run/index.js'
import type { Sequence } from '../../sequence/index.js'
import type { JobOptions } from '../run/job.js'
import { loadFrozen, loadTrained } from '../run/load-model.js'
import { evaluationRows } from '../supervised/evaluation-rows.js'
import type { SupervisedKind } from '../supervised/example-digest.js'
import type { PreferenceConfig } from './config.js'
import { ReferenceLogprobs, type Response } from './reference-logprobs.js'

/** Responses of a call; the model splits them further by its memory. */
const responsesOfCall = 256

interface ReferencePassOptions<K extends SupervisedKind> {
  readonly config: PreferenceConfig
  /** Of the run. */
  readonly directory: string
  readonly policy: TokenModel<'language'>
  /** Steps behind the policy. */
  readonly step: number
  /** Of the dataset's files. */
  readonly fingerprints: Readonly<Record<string, string>>
  /** Of models, tokenizer and template. */
  readonly inputs: RunInputs
  /** A stream of its own, at the beginning. */
  readonly rows: ExampleStream<Examples[K]>
  readonly validation: ExampleSet<Examples[K]> | undefined
  readonly responses: (batch: readonly Examples[K][]) => readonly Response[]
  /** `epoch`: one epoch has every response. `all`: what is asked of the reference depends on the batches. */
  readonly span: 'epoch' | 'all'
  readonly job: Pick<JobOptions<PreferenceConfig>, 'report' | 'signal' | 'live' | 'ranks'>
}

export async function referencePass<K extends SupervisedKind>(
  options: ReferencePassOptions<K>,
): Promise<ReferenceLogprobs> {
  const { directory, rows, job } = options
  const path = join(directory, 'reference_logprobs.tsv')
  const logprobs = await ReferenceLogprobs.read(path, identity(options))
  const covers = coverage(options)
  if (logprobs.covers === covers) return logprobs
  const shown = job.report.transfer('reference log-probabilities', count('rows', 10_000))
  const reference = lazily(() => openReference(options))
  try {
    let [waiting, scored, done] = [[] as Response[], 0, 0]
    const flush = async () => {
      // Of the rows that were taken since the last call, as many as the call has scored.
      const onProgress = (part: number): void =>
        shown.at(scored + ((done - scored) * part) / waiting.length, Math.max(rows.size, done))
      await logprobs.add(waiting, async sequences => (await reference.get()).score(sequences, onProgress))
      ;[waiting, scored] = [[], done]
    }
    for await (const batch of neededBatches(options)) {
      waiting.push(...options.responses(batch).filter(({ key }) => !logprobs.has(key)))
      done += batch.length
      if (waiting.length >= responsesOfCall) await flush()
    }
    await flush()
  } finally {
    shown.end()
    await reference.close()
  }
  logprobs.covers = covers
  await logprobs.write(path)
  return logprobs
}

/** Everything that the numbers depend on, beside the row they are of. */
function identity({
  config,
  fingerprints,
  inputs,
}: Pick<ReferencePassOptions<SupervisedKind>, 'config' | 'fingerprints' | 'inputs'>): string {
  const { model, adapter, reference, dtype, data, validationData } = config
  const { maxLength, overlong, promptTemplate, systemPrompt, chatTemplate } = config
  const read = { data, validationData, maxLength, overlong, promptTemplate, systemPrompt, chatTemplate, fingerprints }
  return createHash('sha256')
    .update(JSON.stringify({ model, adapter, reference, dtype, ...read, inputs }))
    .digest('hex')
}

/** Which batches are asked for: a run that was resumed for more steps asks for more. */
function coverage({ config, span }: Pick<ReferencePassOptions<SupervisedKind>, 'config' | 'span'>): string {
  const { epochs, batchSize, maxSteps = 'all', validationShare } = config
  return `batches of ${batchSize}, ${maxSteps} steps, ${span === 'epoch' ? 1 : epochs} epochs, ${validationShare} held out`
}

/** The batches as they will be trained on, then the validation rows. */
async function* neededBatches<K extends SupervisedKind>(options: ReferencePassOptions<K>) {
  const { rows, validation, span, config } = options
  const { epochs, batchSize, maxSteps = Number.POSITIVE_INFINITY } = config
  const last = span === 'epoch' ? 1 : epochs
  for (let step = 0; step < maxSteps && rows.cursor.epoch < last && !atEnd(rows, last); step++)
    yield await rows.take(batchSize)
  if (validation) yield* evaluationRows(validation)
}

const atEnd = ({ cursor, size }: ExampleStream<unknown>, epochs: number): boolean =>
  cursor.epoch === epochs - 1 && cursor.position >= size

interface Reference {
  score(sequences: readonly Sequence[], onProgress: (done: number) => void): ReturnType<TokenModel<'language'>['score']>
  close(): void
}

/** The policy as reference: possible while it has made no step, and always if its adapter is new and can be turned off. */
async function openReference(
  options: Pick<ReferencePassOptions<SupervisedKind>, 'config' | 'policy' | 'step' | 'job'>,
) {
  const { config, policy, step, job } = options
  const scoring = (model: TokenModel<'language'>, adapter: 'on' | 'off', close: () => void): Reference => ({
    score: (sequences, onProgress) => model.score(sequences, { adapter, signal: job.signal, onProgress }),
    close,
  })
  const settings = { ...config, role: 'language' as const }
  const { reference } = job.live ?? {}
  if (reference) return scoring(reference, 'on', () => {})
  if (config.reference !== undefined) {
    const model = await loadFrozen(config.reference, { ...settings, what: 'the reference' }, job)
    return scoring(model, 'on', () => model.dispose())
  }
  if (config.lora) return scoring(policy, 'off', () => {})
  if (step === 0) return scoring(policy, 'on', () => {})
  const start = await loadTrained(config.model, { ...settings, what: 'the policy before training' }, job)
  return scoring(start, 'on', () => start.dispose())
}

/** Opened on first use: a resumed run usually has all results. */
function lazily(open: () => Promise<Reference>) {
  let opened: Promise<Reference> | undefined
  return {
    get: () => (opened ??= open()),
    close: async () => (await opened?.catch(() => undefined))?.close(),
  }
}
