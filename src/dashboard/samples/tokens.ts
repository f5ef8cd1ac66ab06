/** The tokens of a sample with their numbers: derived from the journal as a replay does it, or as the run saved them. */
import { readFile } from 'node:fs/promises'
import { trajectoryPath } from '../../run/index.js'
import { type Tokenizer, tokenReader } from '../../text/index.js'
import type { ReplayedExperience, Trajectory } from '../../train/index.js'
import { recordedKl } from '../../train/records.js'
import { type TokenNumber, type TokensAnswer, tokenNumbers } from '../api.js'
import { recordOf } from './detail.js'
import { parseSampleId } from './query.js'
import type { SampleIndex } from './sample-index.js'
import { settingsAt } from './settings.js'

export async function askTokens(index: SampleIndex, { id }: { id: string }): Promise<TokensAnswer> {
  const found = await recordOf(index, id)
  const tokenizer = await index.tokenizer()
  const ids = found.outcome.kind === 'completed' ? found.outcome.responseIds : new Int32Array()
  const shared = {
    promptTokens: await tokenTexts(tokenizer, found.promptIds),
    tokens: await tokenTexts(tokenizer, ids),
    ...(found.sampled ? { sampled: Array.from(found.sampled) } : {}),
    source: 'replay' as const,
  }
  const saved = await savedNumbers(index.directory, id, found.sampled ?? ids)
  if (saved) return { ...shared, ...saved, source: 'trajectory' }
  const numbers: Partial<Record<TokenNumber, (number | null)[]>> = {}
  const missing: Partial<Record<TokenNumber, string>> = {}
  const put = (name: TokenNumber, values: ArrayLike<number> | undefined, why: string): void => {
    const spread = values && spreadOver(values, sampled ?? ids)
    if (spread) numbers[name] = spread
    else missing[name] = why
  }
  const { inference, sampled } = found
  const { iteration } = parseSampleId(id)
  // It comes with everything that trains, which the other questions do without.
  const { replayedExperiences } = await import('../../train/index.js')
  const one = await replayedExperiences(index.directory, iteration)
    .then(({ experiences }) =>
      joined(
        experiences.filter(({ sequence, sample }) => sequence.promptId === found.promptId && sample === found.sample),
      ),
    )
    .catch((error: Error) => error)
  const trained = one instanceof Error || !one ? undefined : one
  const derived = one instanceof Error ? one.message : 'the sample was not trained on, so that it has no advantage'
  const notScored = 'the run did not record log-probabilities of the trainer: its rollout was not scored'
  put('advantage', trained?.advantages, derived)
  put('return', trained?.returns, derived)
  const engine = found.outcome.kind === 'completed' ? found.outcome.logprobs : {}
  put('logprob', inference?.logprobs ?? engine.processed ?? engine.raw, notScored)
  const notes: Partial<Record<TokenNumber, string>> = {}
  put('entropy', inference?.entropies, 'the run did not record entropies')
  const kl = trained?.kl ?? recordedKl(found, await settingsAt(await index.view(), iteration))
  put('kl', kl, inference?.refLogprobs ? notScored : 'the run recorded no reference')
  put('value', inference?.values, 'the run has no critic')
  if (!inference?.logprobs)
    for (const name of ['logprob', 'kl'] as const)
      if (numbers[name]) notes[name] = 'of the engine: the trainer did not score this rollout'
  const { comparable } = trained ?? {}
  const own = inference?.logprobs
  const gap = own && comparable ? Array.from(own, (logprob, t) => logprob - comparable[t]!) : undefined
  put('gap', gap, own ? 'the log-probabilities of engine and trainer cannot be compared' : notScored)
  put('ratio', gap?.map(Math.exp), own ? 'the log-probabilities of engine and trainer cannot be compared' : notScored)
  if (trained && !trained.isSame)
    missing.advantage = 'these advantages differ from those of the training: another version of the estimator made them'
  return { ...shared, numbers, missing, notes }
}

/** Of an episode whose conversation was rewritten, one after another: they are the sampled tokens in their order. */
function joined(parts: readonly ReplayedExperience[]) {
  const [first] = parts
  if (!first) return undefined
  const all = (of: (one: ReplayedExperience) => ArrayLike<number> | undefined): number[] | undefined => {
    const lists = parts.map(of)
    return lists.includes(undefined) ? undefined : lists.flatMap(list => Array.from(list!))
  }
  return {
    advantages: all(one => one.advantages),
    returns: all(one => one.returns),
    kl: all(one => one.kl),
    comparable: all(one => one.comparable),
    isSame: parts.every(one => one.isSame),
  }
}

/** Numbers of trained tokens at the places of all tokens, where a mask says which are trained; undefined where they do not fit. */
function spreadOver(values: ArrayLike<number>, mask: ArrayLike<number>): (number | null)[] | undefined {
  if (!(mask instanceof Uint8Array)) return values.length === mask.length ? Array.from(values) : undefined
  let at = 0
  const spread = Array.from(mask, trained => (trained ? (values[at++] ?? null) : null))
  return at === values.length ? spread : undefined
}

/** What the run saved of a sample itself, with `saveTrajectories`. */
async function savedNumbers(
  directory: string,
  id: string,
  tokens: ArrayLike<number>,
): Promise<Pick<TokensAnswer, 'numbers' | 'missing' | 'notes'> | undefined> {
  const { iteration, sample, promptId } = parseSampleId(id)
  const text = await readFile(trajectoryPath(directory, iteration), 'utf8').catch(() => '')
  for (const line of text.split('\n')) {
    if (!line.includes(JSON.stringify(promptId))) continue
    const one = JSON.parse(line) as Trajectory
    if (one.prompt_id !== promptId || one.sample !== sample) continue
    const numbers: Partial<Record<TokenNumber, readonly (number | null)[]>> = {}
    const missing: Partial<Record<TokenNumber, string>> = {}
    const { logprobs: own, engine_logprobs: engine } = one
    const gap = own && engine && own.map((logprob, t) => logprob - engine[t]!)
    const all: Record<TokenNumber, readonly number[] | undefined> = {
      advantage: one.advantages,
      logprob: own,
      entropy: one.entropies,
      kl: one.kl,
      ratio: gap?.map(Math.exp),
      gap,
      value: one.values,
      return: one.returns,
    }
    for (const name of tokenNumbers) {
      const values = all[name] && spreadOver(all[name], tokens)
      if (values) numbers[name] = values
      else missing[name] = 'the run did not compute it'
    }
    return { numbers, missing, notes: {} }
  }
  return undefined
}

/** What each token adds to the text; a token that is a part of a character adds nothing until the character is whole. */
async function tokenTexts(tokenizer: Tokenizer, ids: Int32Array): Promise<{ id: number; text: string }[]> {
  const reader = tokenReader(tokenizer, { skipSpecialTokens: false, before: new Int32Array() })
  const texts: { id: number; text: string }[] = []
  for (const [at, id] of ids.entries())
    texts.push({ id, text: await reader.read([id], { last: at === ids.length - 1 }) })
  return texts
}
