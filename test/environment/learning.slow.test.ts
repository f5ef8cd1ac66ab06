/**
 * Whether episodes teach: after an SFT on conversations whose choices are random, GRPO has to learn to use what a tool or an environment
 * says. A reward that has nothing to do with the episode does not teach it.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import guess from '../../examples/guess-the-number/guess.js'
import { defineTool, type Environment, type Session, toolEnvironment, toolSchema } from '../../src/environment/index.js'
import { grpo } from '../../src/index.js'
import { taughtModel } from '../support/arithmetic-model.js'
import { fresh } from '../support/files.js'
import { randomOf } from '../support/supervised.js'

const seeds = [1, 2, 3]
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

interface Training {
  readonly model: string
  readonly data: readonly { readonly prompt: string }[]
  readonly seed: number
  readonly iterations: number
  readonly rolloutBatchSize: number
  readonly nSamplesPerPrompt: number
  readonly optimizer: { readonly lr: number }
}

/** Trains, and gives what the environment saw: whether each episode reached its goal, in the order of the episodes. */
async function train(
  training: Training,
  worldOf: (goals: number[]) => Environment,
): Promise<{ goals: readonly number[]; model: string }> {
  const goals: number[] = []
  const output = fresh('run')
  const { outcome } = await grpo({
    ...training,
    ...{ environment: worldOf(goals), output, maxNewTokens: 16, episode: { turnTokens: 8 }, device: 'cpu' },
    ...{ klController: { kind: 'fixed', coef: 0 }, loggers: [], saveSteps: 1000 },
  })
  expect(outcome).toBe('finished')
  return { goals, model: `${output}/final_model` }
}

const earlyAndLate = (goals: readonly number[]): { early: number; late: number } => {
  expect(goals.length).toBeGreaterThan(512)
  return { early: mean(goals.slice(0, 192)), late: mean(goals.slice(-384)) }
}

/** Rewards that the episode does not change. */
const lottery = (): (() => number) => {
  const random = randomOf(7)
  return () => (random() < 0.5 ? 1 : 0)
}

// Sums of small numbers. The tool is wrong by one, so that only who reads its result knows the answer.
const wrongByOne = defineTool({
  name: 'calculator',
  description: 'Adds two numbers.',
  input: z.object({ expression: z.string() }),
  effect: 'pure',
  run: ({ expression }) => {
    const [a, b] = expression.split('+').map(Number)
    return Number.isInteger(a! + b!) ? String(a! + b! + 1) : { content: 'Error', isError: true }
  },
})

const sums = (goals: number[], pay?: () => number) =>
  toolEnvironment<{ prompt: string }>({
    tools: [wrongByOne],
    reward: ({ messages, answer, episode }) => {
      const [a, b] = String(messages.at(-1)!.content).split('+').map(Number)
      const right = answer === String(a! + b! + 1) && episode.turns.length > 1
      goals.push(right ? 1 : 0)
      return pay ? pay() : right ? 1 : 0
    },
  })

const digits = [1, 2, 3, 4]
const questions = digits.flatMap(a => digits.map(b => `${a}+${b}`))

/** Every second call is about the question, every second answer is the result: both forms are known, and neither choice. */
function sumRows(): object[] {
  const random = randomOf(9)
  const any = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!
  return Array.from({ length: 512 }, () => {
    const asked = any(questions)
    const expression = random() < 0.5 ? asked : any(questions)
    const [a, b] = expression.split('+').map(Number)
    const result = String(a! + b! + 1)
    const id = 'call00000'
    const call = { id, type: 'function', function: { name: 'calculator', arguments: JSON.stringify({ expression }) } }
    return {
      messages: [
        { role: 'user', content: asked },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: id, content: result },
        { role: 'assistant', content: random() < 0.5 ? result : String(any([3, 4, 5, 6, 7, 8, 9])) },
      ],
      tools: [toolSchema(wrongByOne)],
    }
  })
}

const sumSizes = {
  data: questions.map(prompt => ({ prompt })),
  ...{ rolloutBatchSize: 24, nSamplesPerPrompt: 8, optimizer: { lr: 5e-3 } },
}
const calculators = new Map<number, string>()

test.each(seeds)('seed %i learns to use a calculator', async seed => {
  const model = await taughtModel(seed, sumRows(), 12)
  calculators.set(seed, model)
  const { goals } = await train({ model, seed, iterations: 20, ...sumSizes }, found => sums(found))
  const { early, late } = earlyAndLate(goals)
  expect(early).toBeLessThan(0.5)
  expect(late).toBeGreaterThan(0.85)
})

test.each(seeds)('seed %i learns no sums from rewards of a lottery', async seed => {
  const model = calculators.get(seed)!
  const { goals } = await train({ model, seed, iterations: 8, ...sumSizes }, found => sums(found, lottery()))
  expect(earlyAndLate(goals).late).toBeLessThan(0.5)
})

/** The game of the example, two guesses long: the second is sure after 2, and what was said to it. */
const games = (goals: number[], pay?: () => number): Environment<{ prompt: string; highest: number }> => ({
  ...guess,
  open: async (task, options) => {
    const session = (await guess.open(task, options)) as Session
    return {
      ...session,
      step: async (turn, signal) => {
        const stepped = await session.step(turn, signal)
        if (stepped.kind === 'go-on' && turn.turn < 1) return stepped
        goals.push(stepped.kind === 'done' ? 1 : 0)
        return { kind: 'done', reward: pay ? pay() : (stepped.reward ?? 0) }
      },
    }
  },
})

/** Many games of few samples: all samples of a game look for the same number. */
const gameSizes = {
  data: Array.from({ length: 96 }, (_, game) => ({ prompt: '?', highest: 3, game })),
  ...{ rolloutBatchSize: 96, nSamplesPerPrompt: 4, optimizer: { lr: 3e-3 } },
}

/** Every second guess is possible after what was said before; the others are any number. */
function guessRows(): object[] {
  const random = randomOf(11)
  const between = (low: number, high: number): number => low + Math.floor(random() * (high - low + 1))
  return Array.from({ length: 512 }, () => {
    const hidden = between(1, 3)
    const messages = [{ role: 'user', content: '?' }]
    for (let [low, high] = [1, 3], guessed = 0; messages.length < 4 && guessed !== hidden; ) {
      guessed = random() < 0.5 ? between(low, high) : between(1, 3)
      messages.push({ role: 'assistant', content: String(guessed) })
      if (guessed < hidden) low = Math.max(low, guessed + 1)
      if (guessed > hidden) high = Math.min(high, guessed - 1)
      if (guessed !== hidden && messages.length < 4)
        messages.push({ role: 'user', content: guessed < hidden ? 'Higher.' : 'Lower.' })
    }
    return { messages }
  })
}

const guessers = new Map<number, string>()

test.each(seeds)('seed %i learns to find a number in two guesses', async seed => {
  const model = await taughtModel(seed, guessRows(), 20)
  guessers.set(seed, model)
  const { goals } = await train({ model, seed, iterations: 26, ...gameSizes }, found => games(found))
  const { early, late } = earlyAndLate(goals)
  expect(early).toBeLessThan(0.75)
  expect(late).toBeGreaterThan(0.85)
})

test.each(seeds)('seed %i finds no more numbers with rewards of a lottery', async seed => {
  const model = guessers.get(seed)!
  const { goals } = await train({ model, seed, iterations: 8, ...gameSizes }, found => games(found, lottery()))
  expect(earlyAndLate(goals).late).toBeLessThan(0.75)
})
