/** The experiences of one iteration: from the prompts' stream, with everything it finishes kept in the journal. */
import { setImmediate as pause } from 'node:timers/promises'
import type { ExampleStream, PromptExample } from '../../data/index.js'
import type { ExperienceBatch, FastExperienceMaker, PromptRow } from '../../experience/index.js'
import { RunError } from '../../run/index.js'
import { sampleDigest } from './batch-digest.js'
import type { IterationJournal, RolloutRecord } from './iteration-journal.js'

export interface RolloutOptions {
  readonly maker: FastExperienceMaker
  readonly prompts: ExampleStream<PromptExample>
  readonly rolloutBatchSize: number
  readonly oldLogprobs: 'score' | 'skip'
  readonly journal: IterationJournal
  readonly signal: AbortSignal
}

export async function makeRollout(options: RolloutOptions): Promise<ExperienceBatch> {
  const { maker, prompts, rolloutBatchSize, oldLogprobs, journal, signal } = options
  const named = new Names()
  const taken: PromptRow[] = []
  while (taken.length < rolloutBatchSize)
    taken.push(...(await takePrompts(prompts, rolloutBatchSize - taken.length, named)))
  const klCoef = maker.klCoef
  const batch = await maker.makeExperienceList(
    taken.map(({ prompt }) => prompt),
    {
      ids: taken.map(({ id }) => id!),
      labels: taken.map(({ label }) => label),
      references: taken.map(({ reference }) => reference),
      rows: taken.map(({ row }) => row ?? {}),
      morePrompts: furtherPrompts(prompts, named),
      oldLogprobs,
      journal,
      signal,
    },
  )
  const samples: RolloutRecord['samples'][number][] = []
  for (const [i, one] of batch.experiences.entries()) {
    samples.push({ group: one.group, sample: one.sample, ...sampleDigest(one) })
    if (i % 32 === 31) await pause()
  }
  if (journal.rollout) refuseAnother(journal.rollout.samples, samples, journal.iteration)
  else await journal.keepRollout({ samples, klCoef })
  return batch
}

/** A prompt that is visited again is another prompt: the row and the epoch name it. */
async function takePrompts(prompts: ExampleStream<PromptExample>, count: number, named: Names): Promise<PromptRow[]> {
  const { epoch } = prompts.cursor
  return (await prompts.take(count)).map(({ prompt, label, reference, row, rowId }) => ({
    id: named.name(`${rowId}/${epoch}`),
    prompt,
    label,
    reference,
    row,
  }))
}

async function* furtherPrompts(prompts: ExampleStream<PromptExample>, named: Names): AsyncGenerator<PromptRow> {
  for (;;) yield* await takePrompts(prompts, 1, named)
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

/** A rollout that is made again must be the one that was trained on. */
function refuseAnother(before: RolloutRecord['samples'], now: RolloutRecord['samples'], iteration: number): void {
  const place = now.findIndex(
    (one, i) =>
      one.group !== before[i]?.group ||
      one.sample !== before[i]?.sample ||
      one.given !== before[i]?.given ||
      one.derived !== before[i]?.derived,
  )
  if (place < 0 && before.length === now.length) return
  const which =
    place < 0
      ? `${before.length} samples became ${now.length}`
      : `prompt ${now[place]!.group}, sample ${now[place]!.sample} differs`
  throw new RunError(`iteration ${iteration}: the journal does not give the batch that was trained on: ${which}`, {
    remedy: '`whetstone replay` shows all that differs. Go on from an earlier checkpoint, or start a new run.',
  })
}
