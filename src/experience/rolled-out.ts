/** Samples and episodes as training and rewards read them. */
import type { DataRow } from '../data/index.js'
import { type Episode, type EpisodeOutcome, episodeSequences, type Turn } from '../environment/index.js'
import { decodeRewardInput, type RewardInput } from '../reward/index.js'
import type { Outcome, Sample, SampleLogprobs, VersionSpan } from '../rollout/index.js'
import { type MediaItem, type Sequence, withSampled } from '../sequence/index.js'
import type { ChatMessage, Tokenizer } from '../text/index.js'
import type { SampleFacts } from './collected.js'
import { episodeMediaProblem, type MediaTokenRules, readFacts, withoutSurplus } from './media-tokens.js'
import type { EncodedPrompt } from './prompts.js'

type FinishedEpisode = Extract<EpisodeOutcome, { kind: 'finished' | 'truncated' }>

/** One sample of all that an episode sampled, turn after turn. Tokens of observations are in the sequences alone. */
export function factsOf({ kind, episode }: FinishedEpisode): SampleFacts {
  const { turns, key } = episode
  const versions: VersionSpan[] = []
  let start = 0
  for (const { completion } of turns) {
    for (const span of completion.versions) versions.push({ ...span, start: start + span.start, end: start + span.end })
    start += completion.responseIds.length
  }
  return {
    sample: key.sample,
    finishReason: kind === 'truncated' ? 'length' : 'stop',
    policyVersion: Math.min(...turns.map(({ completion }) => completion.policyVersion)),
    versions,
    logprobs: joinedLogprobs(turns.map(({ completion }) => completion.logprobs)),
  }
}

function joinedLogprobs(parts: readonly Sample['logprobs'][]): SampleLogprobs {
  const joined = (name: 'raw' | 'processed'): Float32Array | undefined => {
    const given = parts.map(part => part[name])
    return given.includes(undefined) ? undefined : concatenated(given as readonly Float32Array[])
  }
  const [raw, processed] = [joined('raw'), joined('processed')]
  return { ...(raw ? { raw } : {}), ...(processed ? { processed } : {}) }
}

export function concatenated(parts: readonly Float32Array[]): Float32Array {
  if (parts.length === 1) return parts[0]!
  const joined = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

/** The whole conversation of an episode. */
export function conversationOf({ turns }: Pick<Episode, 'turns'>): readonly ChatMessage[] {
  return turns.flatMap(({ messages, message }) => [...messages, message])
}

type Texts = Pick<RewardInput, 'prompt' | 'promptRaw' | 'response' | 'responseRaw'>

/** What was sampled, and what training and rewards read of it. */
export interface RolledOut {
  readonly facts: SampleFacts
  /** Several where a chat template rewrote the conversation of an episode. */
  readonly sequences: readonly Sequence<DataRow>[]
  readonly turns?: readonly Turn[]
  /** What rewards see; the texts are of all that was sampled and observed. */
  decode(): Promise<{ readonly input: RewardInput; readonly texts: Texts }>
}

/** A sample that is lost, and whose fault that is. */
export interface Loss {
  readonly sample: number
  readonly stage: 'generation' | 'reward'
  readonly reason: string
  readonly message: string
  readonly of: 'sample' | 'prompt' | 'environment' | 'score'
}

/** Undefined where there is a sample to score. */
export function lossOf(outcome: Outcome | EpisodeOutcome): Loss | undefined {
  if ('requestId' in outcome) {
    const { sample } = outcome
    if (outcome.kind !== 'completed') {
      const { reason, message } = outcome
      return { sample, stage: 'generation', reason, message, of: outcome.kind === 'rejected' ? 'prompt' : 'sample' }
    }
    if (outcome.finishReason !== 'abort') return undefined
    return { sample, stage: 'generation', reason: 'aborted', message: 'the engine cancelled it', of: 'sample' }
  }
  if (!('message' in outcome)) return undefined
  const { message } = outcome
  if (outcome.kind === 'unscorable')
    return { sample: outcome.episode.key.sample, stage: 'reward', reason: 'unscorable', message, of: 'score' }
  const { sample } = outcome.key
  if (outcome.kind === 'rejected') return { sample, stage: 'generation', reason: outcome.reason, message, of: 'prompt' }
  if (outcome.at === 'generator') return { sample, stage: 'generation', reason: 'engine', message, of: 'sample' }
  return { sample, stage: 'generation', reason: `environment-${outcome.at}`, message, of: 'environment' }
}

/** An episode that has placeholders among what the policy sampled; undefined where it has none, and for a single response. */
export function episodeLoss(
  outcome: Outcome | EpisodeOutcome,
  rolled: () => RolledOut,
  rules: MediaTokenRules,
): Loss | undefined {
  if (!('episode' in outcome)) return undefined
  const message = episodeMediaProblem(rolled().sequences, rules)
  if (message === undefined) return undefined
  return { sample: outcome.episode.key.sample, stage: 'generation', reason: 'media-tokens', message, of: 'sample' }
}

/** Images and videos of a prompt, as rewards see them. */
interface SeenMedia {
  readonly media: readonly MediaItem[]
  readonly inputs: Partial<RewardInput>
}

/** An outcome that is not lost. */
export function rolledOut(
  outcome: Outcome | EpisodeOutcome,
  prompt: EncodedPrompt,
  { tokenizer, media }: { readonly tokenizer: Tokenizer; readonly media: SeenMedia },
): RolledOut {
  if ('episode' in outcome) return rolledEpisode(outcome as FinishedEpisode, prompt, tokenizer)
  const sample = outcome as Sample
  const { messages, label, target } = prompt
  const sequence = withoutSurplus(withSampled(prompt.sequence, sample.responseIds), sample)
  const { finishReason, sample: index } = sample
  const judged = media.media.length === 0 ? sequence : { ...sequence, media: media.media }
  const known = { sequence: judged, messages, label, target, finishReason, sample: index, ...media.inputs }
  return {
    facts: readFacts(sample),
    sequences: [sequence],
    decode: async () => {
      const input = await decodeRewardInput(tokenizer, known)
      return { input, texts: textsOf(input) }
    },
  }
}

function rolledEpisode(
  outcome: FinishedEpisode,
  { sequence: prompt, label, target }: EncodedPrompt,
  tokenizer: Tokenizer,
): RolledOut {
  const { episode } = outcome
  const { turns, reward: environmentReward } = episode
  const facts = factsOf(outcome)
  const sequences = episodeSequences(episode, { promptId: prompt.promptId, row: prompt.row })
  const { sample, finishReason } = facts
  const known = { sequence: sequences[0]!, messages: conversationOf(episode), label, target, finishReason, sample }
  const decode = async () => {
    const whole = await decodeRewardInput(tokenizer, known)
    const last = turns.at(-1)!.completion.responseIds
    // The answer is what the policy said last, and no text of a tool.
    const response = turns.length === 1 ? whole.response : await tokenizer.decode(last, { skipSpecialTokens: true })
    const responseRaw = turns.length === 1 ? whole.responseRaw : await tokenizer.decode(last)
    const seen = turns.map(({ text, calls, messages, reward }) => ({
      text,
      calls: calls.map(({ name, argumentsText, status }) => ({ name, argumentsText, status })),
      messages,
      reward,
    }))
    const input = { ...whole, response, responseRaw, answer: response, turns: seen, environmentReward }
    return { input, texts: textsOf(whole) }
  }
  return { facts, sequences, turns, decode }
}

const textsOf = ({ prompt, promptRaw, response, responseRaw }: RewardInput): Texts => ({
  prompt,
  promptRaw,
  response,
  responseRaw,
})

/** An episode as rewards see it, or why there is nothing to score. */
export async function episodeAnswer(
  outcome: EpisodeOutcome,
  prompt: EncodedPrompt,
  tokenizer: Tokenizer,
): Promise<
  | { readonly kind: 'answered'; readonly input: RewardInput }
  | { readonly kind: 'lost'; readonly reason: string; readonly message: string }
> {
  const lost = lossOf(outcome)
  if (lost) return { kind: 'lost', reason: lost.reason, message: lost.message }
  const { input } = await rolledEpisode(outcome as FinishedEpisode, prompt, tokenizer).decode()
  return { kind: 'answered', input }
}
