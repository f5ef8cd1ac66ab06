/** Scores samples again with another reward, to see the difference before it is used. Nothing of the run changes. */
import { join } from 'node:path'
import { type DataSpec, type OpenDatasetOptions, openDataset, type PromptExample } from '../data/index.js'
import { loadRewards, textRewardInput } from '../reward/index.js'
import type { RunView } from '../run/index.js'
import { Tokenizer } from '../text/index.js'
import type { RescoreAnswer, SampleDetail } from './api.js'
import { RequestError } from './errors.js'

export interface RescoreOptions {
  readonly view: RunView
  readonly rewards: string
  readonly samples: readonly SampleDetail[]
  readonly matched: number
  readonly signal: AbortSignal
}

export async function rescore({ view, rewards, samples, matched, signal }: RescoreOptions): Promise<RescoreAnswer> {
  const tokenizer = await Tokenizer.load(join(view.directory, 'tokenizer'))
  const rows = await rowsOf(view, tokenizer, new Set(samples.map(({ promptId }) => rowName(promptId))), signal)
  const engine = await loadRewards(rewards, { tokenizer, signal }).catch((error: unknown) => {
    throw new RequestError(400, error instanceof Error ? error.message : String(error))
  })
  try {
    const inputs = samples.map(({ turns, prompt, response, promptId, sample, finish }) => {
      const { row = {}, label, target } = rows.get(rowName(promptId)) ?? {}
      // The last of an episode is a note on how it ended.
      const answer = turns.findLast(({ role }) => role === 'assistant' || role === 'response')?.text ?? response
      return textRewardInput({
        ...{ prompt, response: answer, responseRaw: response, promptId, sample, row },
        finishReason: finish === 'length' ? 'length' : 'stop',
        ...(label === undefined ? {} : { label }),
        ...(target === undefined ? {} : { target }),
      })
    })
    const { outcomes } = await engine.compute(inputs, { signal })
    const scored = samples.map(({ id, prompt, response, reward: before }, place) => {
      const outcome = outcomes[place]!
      const after = outcome.kind === 'scored' ? outcome.reward : null
      return {
        id,
        prompt,
        response,
        before,
        after,
        failure: outcome.kind === 'failed' ? `${outcome.source}: ${outcome.message}` : null,
        components: outcome.kind === 'scored' ? outcome.components : {},
      }
    })
    return {
      rewards,
      samples: scored,
      matched,
      mean: { before: meanOf(scored.map(one => one.before)), after: meanOf(scored.map(one => one.after)) },
      changed: scored.filter(({ before, after }) => !isSame(before, after)).length,
      otherBest: otherBest(samples, scored),
    }
  } finally {
    await engine.close()
  }
}

/** The row of a prompt: its id without the epoch and the visit. */
const rowName = (promptId: string): string => promptId.replace(/\/\d+(\.\d+)?$/, '')
/** Rows of the data that are looked at for those of the samples. */
const mostRows = 200_000

/** Label, target and columns of rows, from the data of the run. Where it is gone, rewards that need them say so. */
async function rowsOf(
  { config }: RunView,
  tokenizer: Tokenizer,
  wanted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Partial<Pick<PromptExample, 'row' | 'label' | 'target'>>>> {
  const found = new Map<string, Pick<PromptExample, 'row' | 'label' | 'target'>>()
  const options = config.config as unknown as OpenDatasetOptions & { readonly data: DataSpec }
  try {
    const all = { ...options, trainOn: 'assistant' as const, baseDirectory: process.cwd(), signal }
    const dataset = await openDataset('prompts', options.data, all)
    try {
      const rows = dataset.train(tokenizer)
      for (let read = 0; read < Math.min(rows.size, mostRows) && found.size < wanted.size; read += 64)
        for (const { promptId, row, label, target } of await rows.take(64))
          if (wanted.has(promptId)) found.set(promptId, { row, label, target })
    } finally {
      await dataset.close()
    }
  } catch (error) {
    signal.throwIfAborted()
    // Moved or changed since: rewards of the text alone still work.
    if (!(error instanceof Error)) throw error
  }
  return found
}

/** Rewards of the index are float32. */
function isSame(before: number | null, after: number | null): boolean {
  return before === after || (before !== null && after !== null && Math.fround(before) === Math.fround(after))
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / known.length
}

/** Groups of which at least two samples were scored again, and whose best one is another now. */
function otherBest(samples: readonly SampleDetail[], scored: RescoreAnswer['samples']): number {
  const groups = new Map<string, RescoreAnswer['samples'][number][]>()
  for (const [place, { iteration, promptId }] of samples.entries()) {
    const key = `${iteration} ${promptId}`
    groups.set(key, [...(groups.get(key) ?? []), scored[place]!])
  }
  const best = (group: readonly RescoreAnswer['samples'][number][], of: 'before' | 'after'): string =>
    group.reduce((a, b) => ((b[of] ?? Number.NEGATIVE_INFINITY) > (a[of] ?? Number.NEGATIVE_INFINITY) ? b : a)).id
  return [...groups.values()].filter(group => group.length > 1 && best(group, 'before') !== best(group, 'after')).length
}
