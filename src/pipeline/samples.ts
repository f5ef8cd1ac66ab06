/** Answers to the same few prompts, before and after each stage, to see the effect of training. */

import { join } from 'node:path'
import { dataOptionsSchema, type Examples, openDataset, sequencesOf } from '../data/index.js'
import { InputError } from '../errors/index.js'
import { makeDirectory, writeFileAtomic } from '../files/index.js'
import { LocalModel } from '../model/index.js'
import { openEngine } from '../rollout/index.js'
import { firstTrained, promptSequence, type Sequence, withSampled } from '../sequence/index.js'
import { withBase } from '../source/index.js'
import { resolveDevice } from '../tensor/index.js'
import { fitPrompt, type TextPrompt, type Tokenizer } from '../text/index.js'
import type { TrainingPlan } from '../train/index.js'

/** Prompts of a plan's data that are shown, where none were asked for. */
const shownPrompts = 4

interface GeneratedSample {
  readonly prompt: TextPrompt
  readonly response: string
  /** By the reward model, where there is one. */
  readonly reward?: number
}

interface GenerateOptions {
  readonly device: string
  readonly chatTemplate: string
  readonly maxNewTokens: number
  /** Of sampling; 0 always takes the likeliest token. */
  readonly temperature: number
  readonly seed: number
  readonly signal: AbortSignal
}

/** The answers of a model in a directory, or of an adapter. */
export async function generateSamples(
  directory: string,
  prompts: readonly TextPrompt[],
  options: GenerateOptions,
): Promise<{ sample: GeneratedSample; sequence: Sequence }[]> {
  const { device, chatTemplate, maxNewTokens, temperature, seed, signal } = options
  const { model, adapter } = await withBase({ model: directory })
  const opened = await openEngine(model, {
    ...{ device: resolveDevice(device), chatTemplate, signal },
    ...(adapter === undefined ? {} : { adapter }),
  })
  const { engine, tokenizer } = opened
  try {
    if (!tokenizer) throw new InputError(`${directory}: no tokenizer.json, and generating text needs one`)
    const limit = engine.maxLength - maxNewTokens
    if (limit < 1)
      throw new InputError(
        `maxNewTokens: ${maxNewTokens} leaves no room for a prompt in the ${engine.maxLength} tokens of ${directory}`,
      )
    // A prompt that cannot be cut is shown with its error.
    const fitted = await Promise.all(prompts.map(prompt => fitPrompt(prompt, { tokenizer, limit, side: 'left' })))
    const requests = fitted.map(({ ids }, i) => ({
      id: String(i),
      promptIds: ids,
      sampling: { seed, maxNewTokens, temperature },
    }))
    const answers: { sample: GeneratedSample; sequence: Sequence }[] = []
    for await (const outcome of engine.generate(requests, { signal })) {
      if (outcome.kind !== 'completed') throw new InputError(`${directory}: ${outcome.message}`)
      const { promptIds, responseIds } = outcome
      const response = await tokenizer.decode(responseIds, { skipSpecialTokens: true })
      const place = Number(outcome.requestId)
      const prompt = promptSequence({ ids: promptIds, promptId: outcome.requestId, row: {} })
      answers[place] = { sample: { prompt: prompts[place]!, response }, sequence: withSampled(prompt, responseIds) }
    }
    // What it cut short is no answer of the model.
    signal.throwIfAborted()
    return answers
  } finally {
    await opened.close()
  }
}

/** Scores of whole sequences by a reward model that reads the same ids. */
export async function scoreSamples(
  rewardModel: string,
  sequences: readonly Sequence[],
  { device, signal }: Pick<GenerateOptions, 'device' | 'signal'>,
): Promise<number[]> {
  const model = await LocalModel.load(rewardModel, { role: 'reward', device: resolveDevice(device), signal })
  try {
    const scores = await model.score(
      sequences.map(({ ids }) => ids.slice(-model.maxLength)),
      { signal },
    )
    return scores.map(({ score }) => score)
  } finally {
    model.dispose()
  }
}

/** The first prompts of a stage's data, held-out ones where there are any. */
export async function promptsOf(
  plan: TrainingPlan,
  { tokenizer, signal }: { tokenizer: Tokenizer; signal: AbortSignal },
): Promise<TextPrompt[]> {
  const { kind, spec, options } = plan.data[0]!
  const settings = dataOptionsSchema.parse(options)
  const dataset = await openDataset(kind, spec, { ...settings, seed: plan.seed, baseDirectory: process.cwd(), signal })
  try {
    const heldOut = dataset.validation(tokenizer)
    for await (const part of heldOut?.parts(shownPrompts) ?? [dataset.train(tokenizer).take(shownPrompts)])
      return Promise.all((await part).map(example => promptIn(example, tokenizer)))
    return []
  } finally {
    await dataset.close()
  }
}

type AnyExample = Examples[keyof Examples]

/** What is answered in an example of any kind. */
async function promptIn(example: AnyExample, tokenizer: Tokenizer): Promise<TextPrompt> {
  if ('prompt' in example) return example.prompt
  const [sequence] = sequencesOf(example) as [Sequence]
  return tokenizer.decode(sequence.ids.subarray(0, firstTrained(sequence)))
}

export async function writeSamples(saveDir: string, name: string, samples: readonly GeneratedSample[]): Promise<void> {
  const folder = join(saveDir, 'samples')
  await makeDirectory(folder)
  const lines = samples.map(sample => `${JSON.stringify(sample)}\n`)
  await writeFileAtomic(join(folder, `${name}.jsonl`), lines.join(''))
}
