/** A few episodes of a config, without training: for people who write an environment. */
import { type EpisodeOutcome, episodeRules, episodeWorld, runEpisodes } from '../../environment/index.js'
import { InputError } from '../../errors/index.js'
import {
  episodeAnswer,
  resolveExperienceConfig,
  samplingParams,
  taskPrompt,
  withEnvironment,
  withEnvironmentReward,
} from '../../experience/index.js'
import { RewardComputationEngine, type RewardOutcome } from '../../reward/index.js'
import type { Tokenizer } from '../../text/index.js'
import { hasEnvironment } from '../config/environment.js'
import type { JobOptions } from '../run/job.js'
import { copyHere, loadFrozen } from '../run/load-model.js'
import { openGenerator } from '../run/open-generator.js'
import { experienceOptionsOf, type RlConfig } from './config.js'
import { prepareRl } from './job.js'

export interface TriedEpisode {
  readonly promptId: string
  readonly sample: number
  readonly outcome: EpisodeOutcome
  /** Undefined where the episode has nothing to score. */
  readonly reward: RewardOutcome | undefined
  readonly tokenizer: Tokenizer
}

/** Runs `samples` episodes of each of the first `prompts` prompts that a run of this config would see. Everything is checked first. */
export async function* tryEpisodes(
  job: Pick<JobOptions<RlConfig>, 'config' | 'commits' | 'live' | 'report' | 'signal'>,
  { prompts, samples }: { readonly prompts: number; readonly samples: number },
): AsyncGenerator<TriedEpisode, void> {
  const { live = {}, report, signal } = job
  if (!hasEnvironment(job.config)) throw new InputError('environment: missing; give environment or tools')
  const { close, ...prepared } = await prepareRl(job)
  const { config, tokenizer, environment, dataset, rewards, models } = prepared
  const opened: (() => Promise<void> | void)[] = [close]
  try {
    const rules = await episodeRules({ environment: environment!, tokenizer, limits: config.episode ?? {} })
    const actor = await loadFrozen<'language'>(
      models.models[0]!.use.directory,
      { ...config, role: 'language', what: 'the model' },
      { report, signal },
    )
    opened.push(() => actor.dispose())
    const generator = live.generator ? { generator: live.generator, close: async () => {} } : await open()
    opened.push(() => generator.close())
    const own = withEnvironment(rewards, environment)
    const engine = new RewardComputationEngine({ ...own, tokenizer })
    const rows = await dataset.train(tokenizer).take(prompts)
    const asked = rows.flatMap(row => {
      const prompt = taskPrompt(row, { promptId: row.promptId, tokenizer })
      const { messages = [], label, target, sequence } = prompt
      const task = { row: sequence.row, messages, label, target }
      return Array.from({ length: samples }, (_, sample) => ({ prompt, task, promptId: row.promptId, sample }))
    })
    const experience = resolveExperienceConfig(experienceOptionsOf(config), { critic: true })
    const sampling = { ...samplingParams(experience, tokenizer), maxNewTokens: config.maxNewTokens }
    const world = episodeWorld(rules, {
      name: 'try',
      generator: generator.generator,
      sampling,
      journal: undefined,
      signal,
    })
    opened.push(() => world.turns.close())
    for await (const { asked: of, outcome } of runEpisodes(world, asked, { signal })) {
      const { prompt, promptId, sample } = of as (typeof asked)[number]
      const answer = await episodeAnswer(outcome, prompt, tokenizer)
      const scored =
        answer.kind === 'answered' ? (await engine.compute([answer.input], { signal })).outcomes[0] : undefined
      const reward =
        scored && answer.kind === 'answered' && own === rewards ? withEnvironmentReward(scored, answer.input) : scored
      yield { promptId, sample, outcome, reward, tokenizer }
    }

    async function open() {
      return openGenerator({
        config: config.generator,
        actor: copyHere(actor)!,
        model: config.model,
        tokenizer,
        rollout: { ...config, samples: prompts * samples },
        report,
        signal,
        onEvent: () => {},
      })
    }
  } finally {
    for (const one of opened.reverse()) await one()
  }
}
