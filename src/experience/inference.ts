/** Scores samples with actor, reference and critic, a few sequences at a time. */
import type { Outputs, Role, ScoreOptions, TokenModel } from '../model/index.js'
import type { Sequence } from '../sequence/index.js'
import type { ExperienceConfig } from './config.js'
import type { StageSeconds } from './experience.js'
import type { MakeOptions, MakerParts } from './maker-options.js'
import type { Resident, Turns } from './model-turns.js'
import type { Inference } from './rollout-journal.js'

/** What is needed of a model that only scores. */
export type Scorer<R extends Role = Role> = Pick<
  TokenModel<R>,
  'score' | 'capabilities' | 'offload' | 'reload' | 'maxLength'
>

interface InferenceOptions extends Pick<ScoreOptions, 'temperature' | 'entropy' | 'adapter' | 'signal' | 'onProgress'> {
  microRolloutBatchSize: number
  packingSamples: boolean
}

/** One output per sequence, with one number per trained token. */
async function scoreResponses<R extends Role>(
  model: Pick<Scorer<R>, 'score'>,
  sequences: readonly Sequence[],
  options: InferenceOptions,
): Promise<Outputs[R][]> {
  const { microRolloutBatchSize: size, packingSamples, onProgress, ...rest } = options
  const found: Outputs[R][] = []
  onProgress?.(0)
  for (let start = 0; start < sequences.length; start += size) {
    const part = sequences.slice(start, start + size)
    const scored = await model.score(part, { ...rest, packing: packingSamples ? 'on' : 'off' })
    for (const output of scored) found.push(output)
    onProgress?.(found.length)
  }
  return found
}

/** Outputs of actor, reference and critic: role by role, so that each model is moved to the device once. */
export async function inferSequences(
  { actor, critic, reference }: Pick<MakerParts, 'actor' | 'critic' | 'reference'>,
  sequences: readonly Sequence[],
  options: {
    readonly config: ExperienceConfig
    readonly turns: Turns
    /** Gets the seconds of each role. */
    readonly seconds: StageSeconds
    /** `skip`: the actor is not asked. */
    readonly oldLogprobs: 'score' | 'skip'
    readonly signal: AbortSignal | undefined
    readonly onProgress?: MakeOptions['onProgress']
  },
): Promise<Inference[]> {
  const { config, turns, seconds, oldLogprobs, signal, onProgress } = options
  const { microRolloutBatchSize, packingSamples } = config
  const shared: InferenceOptions = { microRolloutBatchSize, packingSamples, ...(signal ? { signal } : {}) }
  const scaled = { ...shared, temperature: config.temperature || 1 }
  const told = (stage: 'actor' | 'reference' | 'critic'): Pick<ScoreOptions, 'onProgress'> =>
    onProgress ? { onProgress: done => onProgress({ stage, done, total: sequences.length }) } : {}
  const timed = async <T>(
    stage: 'actor' | 'reference' | 'critic',
    model: Resident,
    work: () => Promise<T>,
  ): Promise<T> => {
    signal?.throwIfAborted()
    const started = performance.now()
    const found = await turns.use(model, work)
    seconds[stage] += (performance.now() - started) / 1000
    return found
  }
  const refer = (model: Scorer<'language'>, adapter: 'on' | 'off') =>
    timed('reference', model, () =>
      scoreResponses<'language'>(model, sequences, { ...scaled, ...told('reference'), adapter }),
    )
  // The actor last: training needs it next.
  const other = reference === 'adapter-off' ? undefined : reference
  const apart = other && (await refer(other, 'on'))
  const valued =
    critic &&
    (await timed('critic', critic, () => scoreResponses<'value'>(critic, sequences, { ...shared, ...told('critic') })))
  const { entropy } = actor.capabilities
  const acted =
    oldLogprobs === 'skip'
      ? undefined
      : await timed('actor', actor, () =>
          scoreResponses<'language'>(actor, sequences, { ...scaled, ...told('actor'), entropy }),
        )
  const referred = reference === 'adapter-off' ? await refer(actor, 'off') : apart
  return sequences.map((_, i) => ({
    logprobs: acted?.[i]?.logprobs,
    entropies: acted?.[i]?.entropies,
    refLogprobs: referred?.[i]?.logprobs,
    values: valued?.[i]?.values,
  }))
}

/** The share of rows of padded batches of `size` sequences that hold no token. */
export function paddingShare(lengths: readonly number[], size: number): number {
  let rows = 0
  let tokens = 0
  for (let start = 0; start < lengths.length; start += size) {
    const part = lengths.slice(start, start + size)
    rows += part.length * Math.max(...part)
    tokens += part.reduce((sum, length) => sum + length, 0)
  }
  return rows === 0 ? 0 : 1 - tokens / rows
}
