/** Answers of a model to prompts, in the order of the prompts. */
import { decodeRewardInput, type RewardInput } from '../reward/index.js'
import type { GenerationRequest, Generator, SamplingParams } from '../rollout/index.js'
import { promptSequence, withSampled } from '../sequence/index.js'
import { encodeTurns, type Tokenizer } from '../text/index.js'
import type { EvaluationPrompt } from './prompts.js'

export interface Answers {
  /** By prompt and sample; without failed samples. */
  readonly inputs: readonly (readonly RewardInput[])[]
  /** Failed samples, by reason. */
  readonly unanswered: Readonly<Record<string, number>>
}

interface AnswerOptions {
  readonly generator: Generator
  readonly tokenizer: Tokenizer
  readonly prompts: readonly EvaluationPrompt[]
  readonly samples: number
  readonly sampling: SamplingParams
  readonly signal: AbortSignal
  readonly onAnswered: (count: number) => void
}

export async function generateAnswers(options: AnswerOptions): Promise<Answers> {
  const { generator, tokenizer, prompts, signal, onAnswered } = options
  const inputs = prompts.map((): RewardInput[] => [])
  const unanswered: Record<string, number> = {}
  let count = 0
  for await (const outcome of generator.generate(requestsFor(options), { signal })) {
    signal.throwIfAborted()
    onAnswered(++count)
    if (outcome.kind !== 'completed') {
      unanswered[outcome.reason] = (unanswered[outcome.reason] ?? 0) + 1
      continue
    }
    const { finishReason, sample } = outcome
    const place = Number(outcome.requestId)
    const { prompt, label, target, row, promptId } = prompts[place]!
    const messages = typeof prompt === 'string' ? undefined : prompt
    const asked = promptSequence({ ids: outcome.promptIds, promptId, row })
    const sequence = withSampled(asked, outcome.responseIds)
    const input = await decodeRewardInput(tokenizer, { sequence, messages, label, target, finishReason, sample })
    inputs[place]!.push(input)
  }
  // Interrupted samples are not a result.
  signal.throwIfAborted()
  for (const list of inputs) list.sort((a, b) => a.sample - b.sample)
  return { inputs, unanswered }
}

async function* requestsFor({
  tokenizer,
  prompts,
  samples: n,
  sampling,
}: AnswerOptions): AsyncGenerator<GenerationRequest> {
  for (const [place, { prompt, promptId }] of prompts.entries()) {
    const promptIds = await encodeTurns(prompt, tokenizer)
    // The row id seeds the random numbers: other rows do not change them.
    yield { id: `${place}`, promptId, promptIds, n, sampling }
  }
}
