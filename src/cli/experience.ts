import { stringify } from 'yaml'
import { z } from 'zod'
import { attributed } from '../api/index.js'
import { type PromptRow, readPrompts } from '../data/index.js'
import { InputError } from '../errors/index.js'
import {
  type Experience,
  type ExperienceInfo,
  type ExperienceOptions,
  FastExperienceMaker,
  promptLimit,
  resolveExperienceConfig,
} from '../experience/index.js'
import { type Output, openOutput } from '../files/index.js'
import { LocalModel } from '../model/index.js'
import { count, type Report, reportFor } from '../progress/index.js'
import { loadRewardOptions, RewardComputationEngine } from '../reward/index.js'
import { eventLine } from '../rollout/index.js'
import { promptIds, responseIds } from '../sequence/index.js'
import { resolveDevice } from '../tensor/index.js'
import { fitPrompt, promptTurns, type Tokenizer, templateUse } from '../text/index.js'
import {
  checkGenerator,
  checkModels,
  experienceIdle,
  idleOptions,
  openGenerator,
  type PlannedUse,
  requireMachine,
  rewardLoading,
  type TrainingPlan,
} from '../train/index.js'
import { tooLongLines } from './dry-run.js'
import { type ExperienceFile, experienceFileShape, readExperienceFile } from './experience-config.js'
import { file, flagHelp, readFlags, settings, toggle } from './flags.js'
import { interruptible, orInterrupted } from './interrupt.js'

const described = Object.entries(experienceFileShape)
  .map(([name, field]) => `  ${name.padEnd(18)} ${field.description ?? ''}`)
  .join('\n')

const flags = z.object({
  config: file('the config'),
  set: settings(),
  dryRun: toggle('check everything that needs no model, print the resolved options, and stop'),
})

export const help = `Usage: whetstone experience --config FILE [--set key=value ...] [--dry-run]

Makes experiences: responses to prompts with rewards, log-probabilities, KL, advantages and returns, one line of JSON each.
The config is YAML, JSON, or a TypeScript module whose default export it is:

${described}

and every option of experience generation, such as advantageEstimator, nSamplesPerPrompt, maxNewTokens or temperature
(table in docs/experience.md). Paths in the config are relative to the config file, those of --set to the current directory.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { config: path, set = [], dryRun } = readFlags(args, flags)
  const { config, origins } = await readExperienceFile(path, set)
  const { model, adapter, reference, critic, prompts, rewards } = config
  const directories = [model, adapter, reference, critic].filter(one => one !== undefined)
  const output = await openOutput(config.output, { inputs: [path, prompts, rewards], directories })
  const report = reportFor(process.env)
  return interruptible({
    work: signal => {
      for (const line of idleOptions({ config, origins }, experienceIdle)) report.line(line)
      return attributed(origins, () =>
        dryRun ? checkOnly(config, { report, signal }) : experience(config, { output, report, signal }),
      )
    },
    onInterrupt: () => report.line(`Interrupted. ${output.interrupted}`),
  })
}

interface Surroundings {
  output: Output
  report: Report
  signal: AbortSignal
}

/** What can be checked without the models: their files, the prompts, the rewards and how they go together. */
async function prepare(config: ExperienceFile, signal: AbortSignal) {
  const options = experienceOptions(config)
  const resolved = resolveExperienceConfig(options, { critic: config.critic !== undefined })
  const models = await checkModels(planOf(config))
  requireMachine(models)
  const { context } = models.models[0]!.config.decoder
  const limit = promptLimit(resolved, context)
  await checkGenerator(config.generator)
  const { promptColumn, labelColumn, targetColumn } = config
  const { tokenizer } = models
  const { tokenizer: _, ...rewards } = await loadRewardOptions(config.rewards, {
    tokenizer,
    device: config.device,
    ...rewardLoading(config),
    signal,
  })
  const engine = new RewardComputationEngine({ ...rewards, tokenizer })
  try {
    const { prompts, description } = await readPrompts(config.prompts, {
      columns: {
        ...(promptColumn === undefined ? {} : { prompt: promptColumn }),
        ...(labelColumn === undefined ? {} : { label: labelColumn }),
        ...(targetColumn === undefined ? {} : { target: targetColumn }),
      },
      check: row => engine.rowProblem(row),
    })
    return { options, prompts, description, tokenizer, limit, rewards, close: () => engine.close() }
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** The models that will be loaded, none of which is trained. */
function planOf(config: ExperienceFile): TrainingPlan {
  const { model, adapter, reference, critic, rolloutBatchSize, nSamplesPerPrompt, maxNewTokens, promptMaxLen } = config
  const use = { role: 'language', trained: 'nothing', computes: 'yes' } as const
  const others: PlannedUse[] = []
  if (reference !== undefined && reference !== 'adapter-off')
    others.push({ ...use, name: 'the reference', option: 'reference', directory: reference })
  if (critic !== undefined)
    others.push({ ...use, role: 'value', name: 'the critic', option: 'critic', directory: critic })
  const samples = rolloutBatchSize * nSamplesPerPrompt
  const engine = config.generator.type === 'local' ? 'here' : 'elsewhere'
  return {
    models: [{ ...use, name: 'the actor', option: 'model', directory: model, adapter }, ...others],
    data: [],
    rewards: config.rewards,
    device: config.device,
    gradientCheckpointing: false,
    sequences: Math.min(samples, config.microRolloutBatchSize),
    generation: {
      samples,
      promptMaxLen,
      promptTruncation: config.promptTruncation,
      maxNewTokens,
      maxInFlight: config.generator.maxInFlight,
      engine,
    },
    chatTemplate: config.chatTemplate,
    seed: config.seed,
  }
}

async function checkOnly(config: ExperienceFile, { report, signal }: Omit<Surroundings, 'output'>): Promise<void> {
  const prepared = await orInterrupted(signal, () => true, prepare(config, signal))
  const { prompts, description, tokenizer, limit, close } = prepared
  await close()
  report.line(stringify(config).trimEnd())
  report.line(`${config.prompts}: ${prompts.length} prompts\n${description}`)
  const counts = { cut: 0, leftOut: 0 }
  for (const { prompt } of prompts) {
    const turns = promptTurns(prompt, tokenizer, config.chatTemplate)
    const fitted = await fitPrompt(turns, { tokenizer, limit, side: config.promptTruncation })
    if (fitted.kind === 'too-long') counts.leftOut++
    else if (fitted.cut > 0) counts.cut++
  }
  for (const line of tooLongLines({ option: 'promptMaxLen', limit, ...counts })) report.line(line)
}

async function experience(config: ExperienceFile, { output, report, signal }: Surroundings): Promise<void> {
  const { options, prompts, tokenizer, rewards, close } = await orInterrupted(
    signal,
    () => true,
    prepare(config, signal),
  )
  try {
    const models = await loadModels(config, tokenizer, report, signal)
    try {
      const maker = new FastExperienceMaker({
        ...options,
        ...models.parts,
        ...rewards,
        patienceMinutes: rewards.patienceMinutes ?? config.rewardPatienceMinutes,
        onAway: ({ message }) => report.line(message),
      })
      await writeExperiences(maker, prompts, config, { output, report, signal })
    } finally {
      await models.close()
    }
  } finally {
    await close()
  }
}

/** The options of the maker alone. */
function experienceOptions(config: ExperienceFile): ExperienceOptions {
  const own = new Set<string>(Object.keys(experienceFileShape))
  const rest = Object.entries(config).filter(([name, value]) => !own.has(name) && value !== undefined)
  const chatTemplate = templateUse(config.chatTemplate)
  return { ...Object.fromEntries(rest), chatTemplate }
}

async function loadModels(config: ExperienceFile, tokenizer: Tokenizer, report: Report, signal: AbortSignal) {
  const device = resolveDevice(config.device)
  const loaded: { dispose(): void }[] = []
  const load = async <R extends 'language' | 'value'>(role: R, directory: string, what: string, adapter?: string) => {
    const loading = report.transfer(`loading ${what}`)
    const model = await LocalModel.load<R>(directory, {
      role,
      device,
      signal,
      ...(adapter === undefined ? {} : { adapter }),
      onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
    }).finally(() => loading.end())
    loaded.push(model)
    return model
  }
  const dispose = (): void => {
    for (const model of loaded) model.dispose()
  }
  try {
    const actor = await load('language', config.model, 'the actor', config.adapter)
    const { reference, critic: criticPath, klController } = config
    const other = reference !== undefined && reference !== 'adapter-off'
    const referred = other ? await load('language', reference, 'the reference') : reference && ('adapter-off' as const)
    const critic = criticPath === undefined ? undefined : await load('value', criticPath, 'the critic')
    const opened = await openGenerator({
      config: config.generator,
      actor,
      model: config.model,
      tokenizer,
      rollout: { ...config, samples: config.rolloutBatchSize * config.nSamplesPerPrompt },
      report,
      signal,
      onEvent: event => {
        if (event.kind !== 'updated' && event.kind !== 'proved') report.line(eventLine(event))
      },
    })
    const { generator } = opened
    return {
      parts: {
        actor,
        tokenizer,
        generator,
        ...(referred === undefined ? {} : { reference: referred }),
        ...(critic ? { critic } : {}),
        ...(klController ? { klController } : {}),
      },
      close: async (): Promise<void> => {
        await opened.close()
        dispose()
      },
    }
  } catch (error) {
    dispose()
    throw error
  }
}

async function writeExperiences(
  maker: FastExperienceMaker,
  prompts: readonly PromptRow[],
  { rolloutBatchSize }: ExperienceFile,
  { output, report, signal }: Surroundings,
): Promise<void> {
  const progress = report.transfer('experiences', count('prompts', 100))
  const infos: ExperienceInfo[] = []
  try {
    const write = async (append: (text: string) => Promise<void>): Promise<void> => {
      for (let start = 0; start < prompts.length; start += rolloutBatchSize) {
        const rows = prompts.slice(start, start + rolloutBatchSize)
        const batch = rows.map((row, i) => ({ ...row, promptId: `${start + i}` }))
        const { experiences, info } = await maker.makeExperienceList(batch, { signal })
        for (const one of experiences) await append(experienceLine(one))
        infos.push(info)
        progress.at(start + batch.length, prompts.length)
      }
      if (infos.every(({ samples }) => samples === 0)) throw nothingMade(infos)
    }
    await output.write(write, { signal })
  } finally {
    progress.end()
  }
  for (const [i, info] of infos.entries())
    report.line(`${infos.length > 1 ? `batch ${i}\n` : ''}${summary(info).join('\n')}`)
  const total = infos.reduce((sum, { samples }) => sum + samples, 0)
  report.line(`${output.name}: ${count(total === 1 ? 'experience' : 'experiences', 0).show(total)}`)
}

function nothingMade(infos: readonly ExperienceInfo[]): InputError {
  const drops = new Map<string, number>()
  for (const info of infos)
    for (const [reason, count] of Object.entries(info.drops)) drops.set(reason, (drops.get(reason) ?? 0) + count)
  const reasons = [...drops].map(([reason, count]) => `${count} ${reason}`).join(', ')
  return new InputError(`no experience was made: every sample was skipped (${reasons})`)
}

/** A line that `whetstone advantages` and `whetstone reward test` read too. */
export function experienceLine(one: Experience): string {
  const list = (values: ArrayLike<number> | undefined): number[] | undefined => values && Array.from(values)
  return `${JSON.stringify({
    prompt_id: one.sequence.promptId,
    sample: one.sample,
    prompt: one.texts.prompt,
    response: one.texts.response,
    response_raw: one.texts.responseRaw,
    prompt_ids: list(promptIds(one.sequence)),
    response_ids: list(responseIds(one.sequence)),
    label: one.label,
    target: one.target,
    row: one.sequence.row,
    finish_reason: one.finishReason,
    policy_version: one.policyVersion,
    temperature: one.temperature,
    reward: one.reward,
    components: one.components,
    metrics: one.metrics,
    overlong_penalty: one.overlongPenalty,
    shaped_reward: one.shapedReward,
    logprobs: list(one.logprobs),
    ref_logprobs: list(one.refLogprobs),
    engine_logprobs: { raw: list(one.engineLogprobs.raw), processed: list(one.engineLogprobs.processed) },
    entropies: list(one.entropies),
    values: list(one.values),
    kl: list(one.kl),
    advantages: list(one.advantages),
    returns: list(one.returns),
    loss_mask: list(one.lossMask),
  })}\n`
}

function summary(info: ExperienceInfo): string[] {
  const number = (value: number): string => String(Number(value.toPrecision(4)))
  const row = (name: string, text: string): string => `  ${name.padEnd(16)} ${text}`
  const spread = (name: string, values: ExperienceInfo['reward']): string[] =>
    values
      ? [
          row(
            name,
            `${number(values.mean)} (min ${number(values.min)}, p50 ${number(values.p50)}, p80 ${number(values.p80)}, max ${number(values.max)})`,
          ),
        ]
      : []
  const named = (values: Readonly<Record<string, number>>): string =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${number(value)}`)
      .join(', ')
  const { seconds } = info
  const stages = Object.entries(seconds).filter(([name, value]) => name !== 'total' && value > 0)
  return [
    row('samples', `${info.samples} of ${info.prompts} prompts, ${count('tokens', 0).show(info.tokens)}`),
    ...spread('reward', info.reward),
    ...(Object.keys(info.components).length > 1 ? [row('components', named(info.components))] : []),
    ...(Object.keys(info.metrics).length > 0 ? [row('metrics', named(info.metrics))] : []),
    ...spread('shaped reward', info.shapedReward),
    ...spread('response length', info.responseLength),
    ...spread('total length', info.totalLength),
    ...(info.kl === undefined ? [] : [row('KL', `${number(info.kl)}, coefficient ${number(info.klCoef)}`)]),
    ...(info.entropy === undefined ? [] : [row('entropy', number(info.entropy))]),
    ...(info.groups
      ? [row('groups', `${info.groups.count}, ${number(100 * info.groups.zeroVarianceShare)} % of equal rewards`)]
      : []),
    ...(info.promptsCut + info.promptsLeftOut > 0
      ? [row('long prompts', `${info.promptsCut} cut, ${info.promptsLeftOut} skipped`)]
      : []),
    row('truncated', `${number(100 * info.truncatedShare)} %`),
    ...(Object.keys(info.drops).length > 0 ? [row('dropped', named(info.drops))] : []),
    row('padding avoided', `${number(100 * info.paddingAvoided)} %`),
    row(
      'seconds',
      `${stages.map(([name, value]) => `${name} ${number(value)}`).join(', ')}, total ${number(seconds.total)}`,
    ),
    row('speed', `${Math.round(info.tokensPerSecond).toLocaleString('en')} tokens/s`),
  ]
}
