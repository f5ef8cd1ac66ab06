/** One sample whole: its conversation, what rewards said of it, and the numbers of its tokens. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Journal, toPlainJson } from '../../run/index.js'
import type { Tokenizer } from '../../text/index.js'
import {
  type JournalledSample,
  journalledSamples,
  replayedExperiences,
  type SamplingSettings,
  type Trajectory,
  trajectoryFile,
} from '../../train/index.js'
import { type Flag, type SampleDetail, type TokenNumber, type TokensAnswer, type Turn, tokenNumbers } from '../api.js'
import { RequestError } from '../errors.js'
import { groupReasons } from './drop-reasons.js'
import { parseSampleId, rowOf, rowShown } from './query.js'
import type { SampleIndex } from './sample-index.js'

async function recordOf(index: SampleIndex, id: string): Promise<JournalledSample> {
  const { iteration, sample, promptId } = parseSampleId(id)
  const view = await index.view()
  const settings = (view.config.config ?? {}) as SamplingSettings
  const { samples } = await journalledSamples(view.journal as Journal, iteration, settings)
  const found = samples.find(one => one.promptId === promptId && one.sample === sample)
  if (!found) throw new RequestError(404, `the journal has no sample ${JSON.stringify(id.slice(0, 200))}`)
  return found
}

export async function askSample(
  index: SampleIndex,
  { id, flags }: { id: string; flags: ReadonlyMap<string, Flag> },
): Promise<SampleDetail> {
  const found = await recordOf(index, id)
  const row = rowOf(index, id)
  if (row === undefined) throw new RequestError(404, 'the sample is not indexed yet; try again in a moment')
  const { prompt: _, response: __, ...shown } = await rowShown(index, row, flags)
  const { outcome, reward } = found
  const tokenizer = await index.tokenizer()
  const prompt = await tokenizer.decode(found.promptIds)
  const response = outcome.kind === 'completed' ? await tokenizer.decode(outcome.responseIds) : ''
  const done = outcome.kind === 'completed' ? outcome : undefined
  const failure = reward?.kind === 'failed' ? reward : undefined
  const why = outcome.kind === 'completed' ? failure?.message : outcome.message
  return {
    ...shown,
    prompt,
    response,
    turns: turnsOf(prompt, response),
    droppedMessage: why ?? (shown.dropped ? (groupReasons[shown.dropped] ?? shown.dropped) : null),
    rewardMetrics: reward?.kind === 'scored' ? reward.metrics : {},
    rewardFailure: failure ? { source: failure.source, reason: failure.reason, message: failure.message } : null,
    policyVersion: done?.policyVersion ?? null,
    seed: outcome.seed ?? null,
    timings: done?.timings
      ? {
          startedMs: done.timings.startedMs,
          firstTokenMs: done.timings.firstTokenMs ?? null,
          finishedMs: done.timings.finishedMs,
        }
      : null,
    media: [],
    record: toPlainJson({ outcome, reward } as unknown as Parameters<typeof toPlainJson>[0]),
  }
}

/** Markers of turns in the chat formats that models use. */
const formats = [
  /<\|im_start\|>(\w+)\n([\s\S]*?)(?:<\|im_end\|>\n?|$)/g,
  /<\|start_header_id\|>(\w+)<\|end_header_id\|>\n\n([\s\S]*?)(?:<\|eot_id\|>|$)/g,
]

function turnsOf(prompt: string, response: string): Turn[] {
  for (const format of formats) {
    const turns = [...(prompt + response).matchAll(format)].map(([, role, text]) => ({ role: role!, text: text! }))
    if (turns.length > 0) return turns
  }
  return [
    { role: 'prompt', text: prompt },
    { role: 'response', text: response },
  ]
}

export async function askTokens(index: SampleIndex, { id }: { id: string }): Promise<TokensAnswer> {
  const found = await recordOf(index, id)
  const tokenizer = await index.tokenizer()
  const ids = found.outcome.kind === 'completed' ? found.outcome.responseIds : new Int32Array()
  const shared = {
    promptTokens: await tokenTexts(tokenizer, found.promptIds),
    tokens: await tokenTexts(tokenizer, ids),
    source: 'replay' as const,
  }
  const saved = await savedNumbers(index.directory, id, ids.length)
  if (saved) return { ...shared, ...saved, source: 'trajectory' }
  const numbers: Partial<Record<TokenNumber, (number | null)[]>> = {}
  const missing: Partial<Record<TokenNumber, string>> = {}
  const put = (name: TokenNumber, values: ArrayLike<number> | undefined, why: string): void => {
    if (values && values.length === ids.length) numbers[name] = Array.from(values)
    else missing[name] = why
  }
  const { inference } = found
  const { iteration } = parseSampleId(id)
  const one = await replayedExperiences(index.directory, iteration)
    .then(({ experiences }) =>
      experiences.find(({ sequence, sample }) => sequence.promptId === found.promptId && sample === found.sample),
    )
    .catch((error: Error) => error)
  const trained = one instanceof Error || !one ? undefined : one
  const derived = one instanceof Error ? one.message : 'the sample was not trained on, so that it has no advantage'
  const notScored = 'the run did not record log-probabilities of the trainer: its rollout was not scored'
  put('advantage', trained?.advantages, derived)
  put('return', trained?.returns, derived)
  const engine = found.outcome.kind === 'completed' ? found.outcome.logprobs : {}
  put('logprob', inference?.logprobs ?? engine.processed ?? engine.raw, notScored)
  const notes: Partial<Record<TokenNumber, string>> =
    inference?.logprobs || !numbers.logprob ? {} : { logprob: 'of the engine: the trainer did not score this rollout' }
  put('entropy', inference?.entropies, 'the run did not record entropies')
  put('kl', trained?.kl, inference?.refLogprobs ? derived : 'the run has no reference model')
  put('value', inference?.values, 'the run has no critic')
  const { comparable } = trained ?? {}
  const own = inference?.logprobs
  const gap = own && comparable ? own.map((logprob, t) => logprob - comparable[t]!) : undefined
  put('gap', gap, own ? 'the log-probabilities of engine and trainer cannot be compared' : notScored)
  put('ratio', gap?.map(Math.exp), own ? 'the log-probabilities of engine and trainer cannot be compared' : notScored)
  if (trained && !trained.isSame)
    missing.advantage = 'these advantages differ from those of the training: another version of the estimator made them'
  return { ...shared, numbers, missing, notes }
}

/** What the run saved of a sample itself, with `saveTrajectories`. */
async function savedNumbers(
  directory: string,
  id: string,
  length: number,
): Promise<Pick<TokensAnswer, 'numbers' | 'missing' | 'notes'> | undefined> {
  const { iteration, sample, promptId } = parseSampleId(id)
  const text = await readFile(join(directory, 'trajectories', trajectoryFile(iteration)), 'utf8').catch(() => '')
  for (const line of text.split('\n')) {
    if (!line.includes(JSON.stringify(promptId))) continue
    const one = JSON.parse(line) as Trajectory
    if (one.prompt_id !== promptId || one.sample !== sample) continue
    const numbers: Partial<Record<TokenNumber, readonly number[]>> = {}
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
      const values = all[name]
      if (values?.length === length) numbers[name] = values
      else missing[name] = 'the run did not compute it'
    }
    return { numbers, missing, notes: {} }
  }
  return undefined
}

/** What each token adds to the text; a token that is a part of a character adds nothing until the character is whole. */
async function tokenTexts(tokenizer: Tokenizer, ids: Int32Array): Promise<{ id: number; text: string }[]> {
  const texts: { id: number; text: string }[] = []
  const window = 6
  for (let at = 0; at < ids.length; at++) {
    const from = Math.max(0, at - window)
    const before = await tokenizer.decode(ids.subarray(from, at))
    const after = await tokenizer.decode(ids.subarray(from, at + 1))
    texts.push({ id: ids[at]!, text: after.startsWith(before) ? after.slice(before.length) : after.slice(-1) })
  }
  return texts
}
