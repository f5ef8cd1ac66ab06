/** Answers of a model to prompts, in the order of the prompts. */
import { type EncodedPrompt, encodePrompt } from '../experience/index.js'
import type { MultimodalProcessor } from '../model/index.js'
import { decodeRewardInput, type PromptMedia, promptMedia, type RewardInput } from '../reward/index.js'
import type { GenerationRequest, Generator, SamplingParams } from '../rollout/index.js'
import { withSampled } from '../sequence/index.js'
import type { Tokenizer } from '../text/index.js'
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
  /** Of a vision-language model. */
  readonly processor: MultimodalProcessor | undefined
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
  const encoded = new Map<number, EncodedPrompt>()
  const seen = new Map<number, PromptMedia>()
  const onUnread = (): void => {
    unanswered.media = (unanswered.media ?? 0) + options.samples
    count += options.samples
    onAnswered(count)
  }
  for await (const outcome of generator.generate(requestsFor(options, encoded, onUnread), { signal })) {
    signal.throwIfAborted()
    onAnswered(++count)
    if (outcome.kind !== 'completed') {
      unanswered[outcome.reason] = (unanswered[outcome.reason] ?? 0) + 1
      continue
    }
    const { finishReason, sample } = outcome
    const place = Number(outcome.requestId)
    const { label, target } = prompts[place]!
    const { messages, sequence: asked, given, audios } = encoded.get(place)!
    const shown = seen.get(place) ?? promptMedia(asked.media, given ?? { images: [], videos: [] })
    seen.set(place, shown)
    const { images, videos, media } = shown
    const sequence = withSampled({ ...asked, media }, outcome.responseIds)
    const known = { sequence, messages, label, target, finishReason, sample }
    const others = {
      ...(images.length === 0 ? {} : { images }),
      ...(videos.length === 0 ? {} : { videos }),
      ...(audios ? { audios } : {}),
    }
    const input = await decodeRewardInput(tokenizer, { ...known, ...others })
    inputs[place]!.push(input)
  }
  // Interrupted samples are not a result.
  signal.throwIfAborted()
  for (const list of inputs) list.sort((a, b) => a.sample - b.sample)
  return { inputs, unanswered }
}

/** Prompts whose images or videos cannot be used are not asked. */
async function* requestsFor(
  { tokenizer, processor, prompts, samples: n, sampling }: AnswerOptions,
  encoded: Map<number, EncodedPrompt>,
  onUnread: () => void,
): AsyncGenerator<GenerationRequest> {
  // Prompts that are too long were left out, and so were turns of a template.
  const options = { tokenizer, processor, promptTruncation: 'reject', chatTemplate: 'none', limit: Infinity } as const
  for (const [place, row] of prompts.entries()) {
    const { promptId } = row
    const prompt = await encodePrompt(row, { ...options, promptId })
    if (prompt.mediaProblem !== undefined) {
      onUnread()
      continue
    }
    encoded.set(place, prompt)
    const { ids: promptIds, media } = prompt.sequence
    const shown = media.length === 0 ? {} : { media }
    const heard = prompt.audios ? { audios: prompt.audios } : {}
    // The row id seeds the random numbers: other rows do not change them.
    yield { id: `${place}`, promptId, promptIds, ...shown, ...heard, n, sampling }
  }
}
