/** The experiences of one iteration: from the prompts' stream, with everything it finishes kept in the journal. */
import { setImmediate as pause } from 'node:timers/promises'
import type { DataCursor, ExampleStream, PromptExample } from '../../data/index.js'
import type { Collected, ExperienceBatch, FastExperienceMaker, MakeOptions } from '../../experience/index.js'
import type { PolicyVersion } from '../../model/index.js'
import { RunError } from '../../run/index.js'
import { sampleDigest } from './batch-digest.js'
import type { IterationJournal, RolloutRecord } from './iteration-journal.js'

interface RolloutOptions {
  readonly maker: FastExperienceMaker
  readonly prompts: ExampleStream<PromptExample>
  readonly rolloutBatchSize: number
  readonly journal: IterationJournal
  /** The sampling temperature of this iteration. */
  readonly temperature: number
  /** Rows that are not drawn. */
  readonly leaveOut: ReadonlySet<string>
  readonly signal: AbortSignal
  readonly onProgress?: MakeOptions['onProgress']
}

/** Samples with their rewards. */
interface GeneratedRollout {
  readonly generated: Collected
  readonly journal: IterationJournal
  /** How many samples the journal had before. */
  readonly reused: number
  /** Of the first prompt after it. */
  readonly cursor: DataCursor
}

/** Takes prompts, and has them answered and rewarded. */
export async function generateRollout(options: RolloutOptions): Promise<GeneratedRollout> {
  const { maker, prompts, rolloutBatchSize, journal, temperature, leaveOut, signal, onProgress } = options
  const named = new Names()
  const reused = journal.samples
  const taken: PromptExample[] = []
  while (taken.length < rolloutBatchSize)
    taken.push(...(await takePrompts(prompts, rolloutBatchSize - taken.length, named, leaveOut)))
  const morePrompts = furtherPrompts(prompts, named, leaveOut)
  const generated = await maker.generateSamples(taken, { morePrompts, journal, temperature, signal, onProgress })
  return { generated, journal, reused, cursor: prompts.cursor }
}

/** What training needs of a rollout. The journal has what it was, from now on. */
export async function completeRollout(
  { generated, journal }: GeneratedRollout,
  options: {
    readonly maker: FastExperienceMaker
    readonly oldLogprobs: 'score' | 'skip'
    readonly oldestVersion: PolicyVersion
    readonly temperature: number
    readonly signal: AbortSignal
    readonly onProgress?: MakeOptions['onProgress']
  },
): Promise<ExperienceBatch> {
  const { maker, oldLogprobs, oldestVersion, temperature, signal, onProgress } = options
  const klCoef = maker.klCoef
  const asked = { oldLogprobs, oldestVersion, journal, temperature, signal, onProgress }
  const batch = await maker.completeExperiences(generated, asked)
  const samples: RolloutRecord['samples'][number][] = []
  for (const [i, one] of batch.experiences.entries()) {
    samples.push({ promptId: one.sequence.promptId, sample: one.sample, ...sampleDigest(one) })
    if (i % 32 === 31) await pause()
  }
  if (journal.rollout) refuseAnother(journal.rollout.samples, samples, journal.iteration)
  else await journal.keepRollout({ samples, klCoef, oldestVersion })
  return batch
}

/** A repeated visit is another prompt: row and epoch make its id. Rows that are left out are passed over. */
async function takePrompts(
  prompts: ExampleStream<PromptExample>,
  count: number,
  named: Names,
  leaveOut: ReadonlySet<string>,
): Promise<PromptExample[]> {
  const { epoch } = prompts.cursor
  const taken = (await prompts.take(count)).filter(({ promptId }) => !leaveOut.has(promptId))
  return taken.map((row): PromptExample => ({ ...row, promptId: named.name(`${row.promptId}/${epoch}`) }))
}

async function* furtherPrompts(
  prompts: ExampleStream<PromptExample>,
  named: Names,
  leaveOut: ReadonlySet<string>,
): AsyncGenerator<PromptExample> {
  for (;;) yield* await takePrompts(prompts, 1, named, leaveOut)
}

/** Names without repetition: a small dataset may visit a row twice in one iteration. */
class Names {
  private readonly visits = new Map<string, number>()

  name(wanted: string): string {
    const visit = this.visits.get(wanted) ?? 0
    this.visits.set(wanted, visit + 1)
    return visit === 0 ? wanted : `${wanted}.${visit}`
  }
}

/** A recomputed rollout must be equal to the trained one. */
function refuseAnother(before: RolloutRecord['samples'], now: RolloutRecord['samples'], iteration: number): void {
  const place = now.findIndex(
    (one, i) =>
      one.promptId !== before[i]?.promptId ||
      one.sample !== before[i]?.sample ||
      one.given !== before[i]?.given ||
      one.derived !== before[i]?.derived,
  )
  if (place < 0 && before.length === now.length) return
  const which =
    place < 0
      ? `${before.length} samples became ${now.length}`
      : `prompt ${now[place]!.promptId}, sample ${now[place]!.sample} differs`
  throw new RunError(`iteration ${iteration}: the journal does not give the batch of the training: ${which}`, {
    remedy: '`whetstone replay` shows all differences. Resume from an earlier checkpoint, or start a new run.',
  })
}
