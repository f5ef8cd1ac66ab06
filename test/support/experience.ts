/** A small world for experiences: random models that share the fixtures' tokenizer, and an engine over the actor. */
import { type Experience, FastExperienceMaker, type FastExperienceMakerOptions } from '../../src/experience/index.js'
import type { LocalModel, Role } from '../../src/model/index.js'
import { sampleReward } from '../../src/reward/index.js'
import { LocalEngine, type LocalEngineOptions } from '../../src/rollout/index.js'
import { atEnd } from './at-end.js'
import { tinyModel } from './tiny-model.js'
import { tokenizer } from './tokenizers.js'

export function makeModel<R extends Role>(
  role: R,
  { seed = 5, adapter = false, context = 128 }: { seed?: number; adapter?: boolean; context?: number } = {},
): Promise<LocalModel<R>> {
  const options = { rank: 2, alpha: 4, dropout: 0, targets: ['q_proj', 'v_proj'] as const, seed: 3 }
  return tinyModel(role, { seed, shape: { context, initRange: 0.2 }, ...(adapter ? { adapter: options } : {}) })
}

export function engineOver(
  actor: LocalModel<'language'>,
  options: Omit<LocalEngineOptions, 'tokenizer'> = {},
): LocalEngine {
  const engine = new LocalEngine(actor, { tokenizer, ...options })
  atEnd(() => engine.close())
  return engine
}

/** Says something about the text that differs between samples. */
export const lengthReward = sampleReward(({ response }) => response.length, { name: 'length' })

type Given = Partial<FastExperienceMakerOptions>

/** A maker over models of its own, unless they are given. */
export async function makeMaker(options: Given = {}): Promise<FastExperienceMaker> {
  const actor = (options.actor as LocalModel<'language'> | undefined) ?? (await makeModel('language'))
  const rewarded = ['sources', 'rewardModel', 'rewardFn', 'customRewardFunc', 'remoteRmUrl'].some(
    name => name in options,
  )
  return new FastExperienceMaker({
    tokenizer,
    generator: options.generator ?? engineOver(actor),
    ...(rewarded ? {} : { sources: [lengthReward] }),
    advantageEstimator: 'reinforce',
    maxNewTokens: 12,
    ...options,
    actor,
  })
}

export const prompts = ['Hello there', 'What is two and two?', 'A', 'The quick brown fox jumps']

/** Everything but times, as text: equal for equal bits. */
export const shown = (experiences: readonly Experience[]): string =>
  JSON.stringify(experiences, (_, value) => (ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value))

/** A text as a user's turn. */
export const asked = (content: string): Promise<Int32Array> =>
  tokenizer.encodeChat([{ role: 'user', content }], { addGenerationPrompt: true })
