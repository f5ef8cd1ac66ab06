/** Answers that are episodes of an environment. */
import { type EpisodeRules, episodeWorld, runEpisodes } from '../environment/index.js'
import { type EncodedPrompt, episodeAnswer, taskPrompt } from '../experience/index.js'
import type { RewardInput } from '../reward/index.js'
import type { Generator, SamplingParams } from '../rollout/index.js'
import type { Answers } from './answers.js'
import type { EvaluationPrompt } from './prompts.js'

interface EpisodeAnswersOptions {
  readonly rules: EpisodeRules
  readonly generator: Generator
  readonly prompts: readonly EvaluationPrompt[]
  readonly samples: number
  readonly sampling: SamplingParams & { readonly maxNewTokens: number }
  readonly signal: AbortSignal
  readonly onAnswered: (count: number) => void
}

/** One episode for each prompt and sample. What went wrong with others is counted by its reason. */
export async function episodeAnswers(options: EpisodeAnswersOptions): Promise<Answers> {
  const { rules, generator, prompts, samples, sampling, signal, onAnswered } = options
  const { tokenizer } = rules
  const inputs = prompts.map((): RewardInput[] => [])
  const unanswered: Record<string, number> = {}
  const asked = prompts.flatMap((row, place) => {
    const prompt = taskPrompt(row, { promptId: row.promptId, tokenizer })
    const { messages = [], label, target, sequence } = prompt
    const task = { row: sequence.row, messages, label, target }
    return Array.from({ length: samples }, (_, sample) => ({ place, prompt, task, promptId: row.promptId, sample }))
  })
  const world = episodeWorld(rules, { name: 'eval', generator, sampling, journal: undefined, signal })
  let count = 0
  try {
    for await (const { asked: of, outcome } of runEpisodes(world, asked, { signal })) {
      signal.throwIfAborted()
      onAnswered(++count)
      const { place, prompt } = of as { place: number; prompt: EncodedPrompt } & typeof of
      const answer = await episodeAnswer(outcome, prompt, tokenizer)
      if (answer.kind === 'answered') inputs[place]!.push(answer.input)
      else unanswered[answer.reason] = (unanswered[answer.reason] ?? 0) + 1
    }
  } finally {
    await world.turns.close()
  }
  signal.throwIfAborted()
  for (const list of inputs) list.sort((a, b) => a.sample - b.sample)
  return { inputs, unanswered }
}
