/** Checks a request, truncates its prompt, and makes it a task or refuses it. */
import type { VisionConfig } from '../../decoder/index.js'
import { mediaProblem } from '../../model/index.js'
import type { MediaPixels } from '../../sequence/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { GenerateOptions, GenerationRequest, Outcome, Rejection } from '../generator.js'
import { type LogprobMeaning, logprobsUnder } from '../logprob-meaning.js'
import { type ResolvedSampling, resolveSampling, type StructuredKind, truncated } from '../sampling.js'
import type { ServerFacts } from './dialect.js'
import { checkHot } from './hot-first-token.js'
import { collapsedPrompt, type SentItem, type SentMedia } from './sent-media.js'

/** What all servers support. */
export interface RemoteLimits {
  readonly vocabSize: number
  readonly maxLength: number
  readonly maxPromptLength: number
  readonly topLogprobs: number
  readonly maxTemperature: number
  readonly structured: readonly StructuredKind[]
  readonly structuredNeeds: string | undefined
  readonly logprobs: LogprobMeaning
  readonly tokenizer: Tokenizer | undefined
  readonly vision: VisionConfig | undefined
  /** Kinds of media that all servers read, and why they read no others. */
  readonly media: readonly SentItem['kind'][]
  readonly mediaNeeds: string | undefined
  /** Frame rates that servers take for all videos. */
  readonly videoRates: readonly number[]
  readonly audio: NonNullable<ServerFacts['audio']>
  /** The placeholder of a sound. */
  readonly audioId: number | undefined
}

export interface RequestListener {
  readonly onToken: GenerateOptions['onToken']
  readonly onOutcome: (outcome: Outcome) => void
}

export class RequestTask {
  readonly arrived = performance.now()
  /** Meanings of its samples' log-probabilities. */
  readonly meanings: ReturnType<typeof logprobsUnder>
  /** Its images, videos and sounds; made before its samples are sent. */
  sent: SentMedia | undefined
  private json: string | undefined

  constructor(
    readonly request: GenerationRequest,
    readonly promptIds: Int32Array,
    readonly sampling: ResolvedSampling,
    readonly listener: RequestListener,
    readonly limits: RemoteLimits,
  ) {
    // Structured output removes logits before log-probabilities are computed, so they are not raw.
    this.meanings = logprobsUnder([limits.logprobs], sampling).filter(
      meaning => meaning !== 'raw' || sampling.structured === undefined,
    )
  }

  get promptId(): string {
    return this.request.promptId ?? this.request.id
  }

  /** The prompt's ids as JSON, as they are sent, made once for all samples. */
  get idsJson(): string {
    const { media = [] } = this.request
    this.json ??= `[${(media.length > 0 ? collapsedPrompt(this.promptIds, media, this.limits.vision!) : this.promptIds).join(',')}]`
    return this.json
  }

  maxNewTokens(index: number): number {
    const { maxNewTokens: asked } = this.sampling
    return Math.min(typeof asked === 'number' ? asked : asked[index]!, this.limits.maxLength - this.promptIds.length)
  }
}

/** Throws a RangeError for a wrong parameter. Returns rejections, one for each sample, for a prompt that cannot be answered. */
export function admitRequest(
  request: GenerationRequest,
  listener: RequestListener,
  limits: RemoteLimits,
): RequestTask | Rejection[] {
  const { n = 1, firstSample = 0 } = request
  if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`n should be a positive integer, got ${n}`)
  const { structured } = request.sampling
  if (structured && limits.structuredNeeds !== undefined && !limits.structured.includes(structured.kind))
    throw new RangeError(`structured: ${structured.kind} needs ${limits.structuredNeeds}`)
  const { vocabSize, vision, audioId } = limits
  const asked = resolveSampling(request.sampling, { vocabSize, n, structured: limits.structured })
  // A placeholder that was sampled would have no image and no sound.
  const placeholders = [...Object.values(vision?.tokens ?? {}), ...(audioId === undefined ? [] : [audioId])]
  const sampling = { ...asked, forbiddenIds: [...new Set([...asked.forbiddenIds, ...placeholders])] }
  checkSampling(sampling, limits)
  const promptIds = truncated(request.promptIds, sampling.truncatePromptTokens)
  const refused = refuse(request, promptIds, limits)
  if (!refused) return new RequestTask(request, promptIds, sampling, listener, limits)
  const { id: requestId, promptId = requestId } = request
  const { seed } = sampling
  return Array.from({ length: n }, (_, i) => ({ ...refused, requestId, promptId, sample: firstSample + i, seed }))
}

function checkSampling(sampling: ResolvedSampling, limits: RemoteLimits): void {
  if ((sampling.stop.length > 0 || sampling.text) && !limits.tokenizer)
    throw new RangeError('stop strings and text need an engine with a tokenizer')
  for (const name of ['topLogprobs', 'promptLogprobs'] as const)
    if ((sampling[name] ?? 0) > limits.topLogprobs)
      throw new RangeError(`${name}: the server gives at most ${limits.topLogprobs}, got ${sampling[name]}`)
  if (sampling.temperature > limits.maxTemperature)
    throw new RangeError(`temperature: the server takes at most ${limits.maxTemperature}, got ${sampling.temperature}`)
  checkHot(sampling, limits)
}

/** Checks the prompt before it is sent: an id outside the vocabulary ends some servers, with all their requests. */
function refuse(
  { media = [], audios = [], promptIds: whole }: GenerationRequest,
  promptIds: Int32Array,
  { vocabSize, maxLength, maxPromptLength, ...limits }: RemoteLimits,
): Pick<Rejection, 'kind' | 'reason' | 'message'> | undefined {
  const rejected = (reason: Rejection['reason'], message: string) => ({ kind: 'rejected' as const, reason, message })
  if (audios.length > 0 && limits.audio !== 'supported')
    return rejected('media-unsupported', `sounds: ${limits.audio.missing}`)
  const places = promptIds.filter(id => id === limits.audioId).length
  if (limits.audioId !== undefined && places !== audios.length)
    return rejected('media-mismatch', `the prompt has ${places} placeholders of sounds, and ${audios.length} sounds`)
  const unread = media.find(({ pixels }) => !limits.media.includes(pixels.kind))
  if (unread)
    return rejected('media-unsupported', `${unread.pixels.kind}s: ${limits.mediaNeeds ?? 'the servers take only text'}`)
  const [rate] = limits.videoRates.filter(one => media.some(({ pixels }) => !hasRate(pixels, one, limits.vision!)))
  if (rate !== undefined)
    return rejected(
      'media-unsupported',
      `videos: the server takes ${rate} frames of a second for every video, and this one has another rate; start vLLM with --media-io-kwargs '{"video": {"fps": RATE, "num_frames": -1}}'`,
    )
  if (media.length + audios.length > 0 && promptIds.length < whole.length)
    return rejected(
      'prompt-too-long',
      `the prompt has ${whole.length} tokens and images, videos or sounds; only text is truncated`,
    )
  if (promptIds.length === 0) return rejected('empty-prompt', 'the prompt has no tokens')
  const longest = Math.min(maxPromptLength, maxLength - 1)
  if (promptIds.length > longest)
    return rejected('prompt-too-long', `the prompt has ${promptIds.length} tokens; the server takes at most ${longest}`)
  for (let i = 0; i < promptIds.length; i++) {
    const id = promptIds[i]!
    if (!(id >= 0 && id < vocabSize))
      return rejected('token-out-of-range', `token id ${id} is outside the vocabulary of ${vocabSize}`)
  }
  // Servers answer also where there are fewer images than placeholders: the rest would be read as text.
  const problem = limits.vision && mediaProblem(promptIds, media, limits.vision)
  return problem === undefined ? undefined : rejected('media-mismatch', problem)
}

const hasRate = ({ kind, secondsPerGrid }: MediaPixels, rate: number, { temporalPatch }: VisionConfig): boolean =>
  kind === 'image' || secondsPerGrid === undefined || Math.abs(temporalPatch / secondsPerGrid - rate) < 1e-6 * rate
