import { LocalModel } from '../../src/model/index.js'
import type { GenerationRequest, Outcome, Sample } from '../../src/rollout/index.js'
import type { LocalEngine } from '../../src/rollout/local/engine.js'
import { fixture } from './models.js'

export const loadModel = (name = 'qwen2'): Promise<LocalModel<'language'>> =>
  LocalModel.load(fixture(name), { role: 'language' })

/** What transformers generated. */
export interface Golden {
  sequences: number[][]
  greedy_24: number[][]
}

/** Every outcome, by request and sample. */
export async function collect(
  engine: LocalEngine,
  requests: Iterable<GenerationRequest>,
): Promise<Map<string, Sample>> {
  const found = new Map<string, Sample>()
  for await (const outcome of engine.generate(requests)) found.set(name(outcome), completed(outcome))
  return found
}

export const name = ({ requestId, sample }: Outcome): string => `${requestId}/${sample}`

export function completed(outcome: Outcome | undefined): Sample {
  if (outcome?.kind !== 'completed') throw new Error(`not completed: ${JSON.stringify(outcome)}`)
  return outcome
}

/** Numbers that look random and are the same every time. */
export function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export const randomIds = (next: (below: number) => number, length: number, vocabSize = 320): Int32Array =>
  Int32Array.from({ length }, () => 3 + next(vocabSize - 3))

/**
 * Repeats what has to happen while a request is under way. On a machine with much else to do the request may be over before it happens:
 * then `attempt` answers undefined, and nothing was tested.
 */
export async function whileUnderWay<T>(attempt: () => Promise<T | undefined>, most = 60): Promise<T> {
  for (let i = 0; i < most; i++) {
    const found = await attempt()
    if (found !== undefined) return found
  }
  throw new Error(`${most} requests were over before anything happened to them`)
}
