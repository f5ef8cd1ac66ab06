/** Samples of prompts as lines of JSON, in the order of the prompts whatever order they finish in. */
import { InputError } from '../errors/index.js'
import type { GenerationRequest, Generator, Outcome, SampleLogprobs, SamplingParams } from '../rollout/index.js'

export interface SampleLines {
  prompts: readonly Int32Array[]
  /** Samples of each. */
  n: number
  sampling: SamplingParams
  logprobs: keyof SampleLogprobs
}

export interface SampleWriter {
  write: (lines: string) => Promise<void>
  onOutcome: (outcome: Outcome) => void
  signal: AbortSignal
}

export async function writeSamples(
  generator: Generator,
  { prompts, n, sampling, logprobs }: SampleLines,
  { write, onOutcome, signal }: SampleWriter,
): Promise<void> {
  const { logprobs: known } = generator.capabilities
  if (!known.includes(logprobs))
    throw new InputError(`this engine has no ${logprobs} log-probabilities, only ${known.join(' and ') || 'none'}`)
  function* requests(): Iterable<GenerationRequest> & Iterator<GenerationRequest> {
    for (const [index, promptIds] of prompts.entries()) yield { id: `${index}`, promptIds, n, sampling }
  }
  const lines = new InOrder()
  for await (const outcome of generator.generate(requests(), { signal })) {
    signal.throwIfAborted()
    onOutcome(outcome)
    const ready = lines.put(Number(outcome.requestId) * n + outcome.sample, outputLine(outcome, logprobs))
    if (ready !== '') await write(ready)
  }
  signal.throwIfAborted()
}

/** Puts lines that arrive in any order back into their order. */
class InOrder {
  private readonly lines = new Map<number, string>()
  private next = 0

  /** What can be written now. */
  put(index: number, line: string): string {
    this.lines.set(index, line)
    let ready = ''
    for (let found = this.lines.get(this.next); found !== undefined; found = this.lines.get(this.next)) {
      ready += found
      this.lines.delete(this.next++)
    }
    return ready
  }
}

function outputLine(outcome: Outcome, meaning: keyof SampleLogprobs): string {
  const place = { index: Number(outcome.requestId), sample: outcome.sample }
  if (outcome.kind !== 'completed') {
    const { reason, message } = outcome
    return `${JSON.stringify({ ...place, error: { reason, message } })}\n`
  }
  const { promptIds, responseIds, text, logprobs, finishReason } = outcome
  return `${JSON.stringify({
    ...place,
    prompt_ids: Array.from(promptIds),
    ids: Array.from(responseIds),
    ...(text === undefined ? {} : { text }),
    logprobs: Array.from(logprobs[meaning] ?? []),
    logprobs_mode: meaning,
    finish_reason: finishReason,
  })}\n`
}
