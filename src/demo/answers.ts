/** How a model answers held-out prompts: several samples of each, the likeliest answer, and what a reward model thinks of them. */
import { LocalModel } from '../model/index.js'
import { type GenerationRequest, openEngine } from '../rollout/index.js'
import { promptSequence, type Sequence, withSampled } from '../sequence/index.js'
import { maxNewTokens } from './stage-configs.js'
import { answerTo } from './task.js'

/** For each held-out prompt. */
export interface PromptAnswers {
  readonly prompt: string
  readonly target: string
  /** At temperature 1, as a policy samples while it is trained. */
  readonly sampled: readonly Answer[]
  /** The likeliest token at every place. */
  readonly greedy: string
}

interface Answer {
  readonly text: string
  readonly sequence: Sequence
}

export async function answersOf(
  model: string,
  {
    prompts,
    samples,
    seed,
    signal,
  }: { prompts: readonly string[]; samples: number; seed: number; signal: AbortSignal },
): Promise<PromptAnswers[]> {
  const { engine, tokenizer, close } = await openEngine(model, { device: 'cpu', signal })
  try {
    const requests: GenerationRequest[] = []
    for (const prompt of prompts) {
      const promptIds = await tokenizer!.encodePrompt(prompt)
      const sampling = { seed, maxNewTokens, text: 'plain' } as const
      requests.push({ id: prompt, promptIds, n: samples, sampling: { ...sampling, temperature: 1 } })
      requests.push({ id: `${prompt} greedy`, promptIds, sampling: { ...sampling, temperature: 0 } })
    }
    const found = new Map<string, { sample: number; answer: Answer }[]>()
    for await (const outcome of engine.generate(requests, { signal })) {
      if (outcome.kind !== 'completed') throw new Error(`${outcome.requestId}: ${outcome.message}`)
      const { requestId, promptIds, responseIds } = outcome
      const sequence = withSampled(promptSequence({ ids: promptIds, promptId: requestId, row: {} }), responseIds)
      const answers = found.get(requestId) ?? []
      found.set(requestId, answers)
      answers.push({ sample: outcome.sample, answer: { text: (outcome.text ?? '').trim(), sequence } })
    }
    const answersTo = (id: string): Answer[] =>
      found
        .get(id)!
        .sort((a, b) => a.sample - b.sample)
        .map(({ answer }) => answer)
    return prompts.map(prompt => ({
      prompt,
      target: answerTo(prompt),
      sampled: answersTo(prompt),
      greedy: answersTo(`${prompt} greedy`)[0]!.text,
    }))
  } finally {
    await close()
  }
}

/** For each prompt, the share of its samples that are right. */
export function accuracies(answers: readonly PromptAnswers[]): number[] {
  return answers.map(({ sampled, target }) => mean(sampled.map(({ text }) => (text === target ? 1 : 0))))
}

/** The share of prompts whose likeliest answer is right. */
export function greedyAccuracy(answers: readonly PromptAnswers[]): number {
  return mean(answers.map(({ greedy, target }) => (greedy === target ? 1 : 0)))
}

/** For each prompt, a reward model's mean score of its samples. */
export async function rewardsOf(
  rewardModel: string,
  answers: readonly PromptAnswers[],
  { signal }: { signal: AbortSignal },
): Promise<number[]> {
  const model = await LocalModel.load(rewardModel, { role: 'reward', device: 'cpu', signal })
  try {
    const sequences = answers.flatMap(({ sampled }) => sampled.map(({ sequence }) => sequence))
    const scores = await model.score(sequences, { signal })
    let at = 0
    return answers.map(({ sampled }) => {
      const own = scores.slice(at, at + sampled.length)
      at += sampled.length
      return mean(own.map(({ score }) => score))
    })
  } finally {
    model.dispose()
  }
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
