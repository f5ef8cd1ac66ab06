/** The experiences of one iteration: from the prompts' stream, with everything it finishes kept in the journal. */
import { setImmediate as pause } from 'node:timers/promises'
import type { DataCursor, ExampleStream, PromptExample } from '../../data/index.js'
import type { Collected, ExperienceBatch, FastExperienceMaker, MakeOptions } from '../../experience/index.js'
import type { PolicyVersion } from '../../model/index.js'
import { RunError } from '../../run/index.js'
import { sampleDigest } from './batch-digest.js'
import type { IterationJournal, RolloutRecord } from './iteration-journal.js'
import { dataRowOf } from './prompt-rows.js'

interface DrawOptions {
  readonly prompts: ExampleStream<PromptExample>
  readonly rolloutBatchSize: number
  /** Rows that are not drawn. */
  readonly leaveOut: ReadonlySet<string>
  /**
   * Where prompts in place of dropped groups come from. `stream`: the next ones of the stream, so that the following rollout is drawn when
   * this one is done. `copy`: the same ones, and the following rollout has them too: its prompts do not depend on this rollout.
   */
  readonly spare: 'stream' | 'copy'
}

/** The prompts of an iteration. */
export interface DrawnPrompts {
  readonly taken: readonly PromptExample[]
  readonly more: AsyncIterable<PromptExample>
  /** Of the first prompt after those that were taken so far. */
  readonly cursor: () => DataCursor
}

interface RolloutOptions {
  readonly maker: FastExperienceMaker
  readonly drawn: DrawnPrompts
  readonly journal: IterationJournal
  /** The sampling temperature of this iteration. */
  readonly temperature: number
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

export async function drawPrompts({ prompts, rolloutBatchSize, leaveOut, spare }: DrawOptions): Promise<DrawnPrompts> {
  const named = new Names()
  const taken: PromptExample[] = []
  while (taken.length < rolloutBatchSize)
    taken.push(...(await takePrompts(prompts, rolloutBatchSize - taken.length, named, leaveOut)))
  if (spare === 'stream') return { taken, more: furtherPrompts(prompts, named, leaveOut), cursor: () => prompts.cursor }
  const { cursor } = prompts
  // Under another name: the next rollout draws other random numbers for the same row.
  const more = furtherPrompts(prompts.from(cursor), new Names('/spare'), leaveOut)
  return { taken, more, cursor: () => cursor }
}

/** Has prompts answered and rewarded. */
export async function generateRollout(options: RolloutOptions): Promise<GeneratedRollout> {
  const { maker, drawn, journal, temperature, signal, onProgress } = options
  const reused = journal.samples
  const asked = { morePrompts: drawn.more, journal, temperature, signal, onProgress }
  const generated = await maker.generateSamples(drawn.taken, asked)
  return { generated, journal, reused, cursor: drawn.cursor() }
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
  const taken = (await prompts.take(count)).filter(({ promptId }) => !leaveOut.has(dataRowOf(promptId)))
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

  constructor(private readonly suffix = '') {}

  name(row: string): string {
    const wanted = `${row}${this.suffix}`
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
