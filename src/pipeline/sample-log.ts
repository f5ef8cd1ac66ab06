/** `samples/`: the same few prompts, answered before and after each stage. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory, writeFileAtomic } from '../files/index.js'
import { readConfig } from '../model/index.js'
import { withBase } from '../source/index.js'
import { promptTurns, type TextPrompt, type Tokenizer } from '../text/index.js'
import type { CheckedStage } from './check-stages.js'
import type { PipelineConfig } from './config.js'
import { generateSamples, promptsOf, scoreSamples, writeSamples } from './samples.js'
import { stageDefaults } from './stage-configs.js'

export class SampleLog {
  constructor(
    private readonly config: PipelineConfig,
    private readonly prompts: readonly TextPrompt[],
  ) {}

  /** With the prompts of the config, or those that were taken from the last stage's data when the pipeline began. */
  static async open(config: PipelineConfig, checked: readonly CheckedStage[], signal: AbortSignal): Promise<SampleLog> {
    const { samplePrompts, saveDir } = config
    const { plan, models } = checked.at(-1)!
    const { tokenizer } = models
    if (samplePrompts)
      return new SampleLog(
        config,
        samplePrompts.map(text => promptFor(text, tokenizer, config)),
      )
    const file = join(saveDir, 'samples', 'prompts.json')
    const kept = await readFile(file, 'utf8').catch(() => undefined)
    if (kept !== undefined) return new SampleLog(config, JSON.parse(kept) as TextPrompt[])
    const prompts = await promptsOf(plan, { tokenizer, signal })
    await makeDirectory(join(saveDir, 'samples'))
    await writeFileAtomic(file, `${JSON.stringify(prompts, undefined, 2)}\n`)
    return new SampleLog(config, prompts)
  }

  /** Writes the answers of a model, with scores if there is a reward model. */
  async keep(
    name: string,
    model: string,
    { rewardModel, signal }: { rewardModel: string | undefined; signal: AbortSignal },
  ): Promise<void> {
    const { config, prompts } = this
    if (prompts.length === 0) return
    const { device, seed, saveDir } = config
    const maxNewTokens = await answerLength(config, model)
    const answers = await generateSamples(model, prompts, {
      ...{ device, maxNewTokens, temperature: 0, seed, signal },
      chatTemplate: templateOf(config),
    })
    const sequences = answers.map(({ sequence }) => sequence)
    const scores = rewardModel && (await scoreSamples(rewardModel, sequences, { device: rewardDevice(config), signal }))
    const samples = answers.map(({ sample }, i) => (scores ? { ...sample, reward: scores[i]! } : sample))
    await writeSamples(saveDir, name, samples)
  }
}

/** A text as the data of the last stage would have it. */
export function promptFor(text: string, tokenizer: Tokenizer, config: PipelineConfig): TextPrompt {
  return promptTurns(text, tokenizer, templateOf(config))
}

/** The chat template of the last stage. */
export function templateOf({ ppo, chatTemplate }: PipelineConfig): string {
  return typeof ppo.chatTemplate === 'string' ? ppo.chatTemplate : chatTemplate
}

/** Tokens of an answer: as in the last stage, within what the model takes. */
export async function answerLength({ ppo }: PipelineConfig, model: string): Promise<number> {
  const { maxNewTokens = stageDefaults.rl.maxNewTokens } = ppo as { maxNewTokens?: number }
  const { model: base } = await withBase({ model })
  const { context } = (await readConfig(base)).decoder
  return Math.min(Number(maxNewTokens), Math.floor(context / 2))
}

/** Where the reward model runs, while it is trained and while it scores. */
export function rewardDevice({ reward, device }: PipelineConfig): string {
  return typeof reward.device === 'string' ? reward.device : device
}
