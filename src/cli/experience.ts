import { z } from 'zod'
import { checkExperience, type ExperienceFile, resolveExperience, startExperience } from '../api/index.js'
import { InputError } from '../errors/index.js'
import type { Experience, ExperienceInfo } from '../experience/index.js'
import { count, numberText } from '../progress/index.js'
import { promptIds, responseIds } from '../sequence/index.js'
import { loadDefinitions, type RawConfig, type ResolvedConfig } from '../train/index.js'
import { readConfigFlags } from './config-flags.js'
import { configHelp, requiredFlags } from './config-help.js'
import { configLayers, requireOptions } from './config-layers.js'
import { configs } from './configs.js'
import { dryRunReport } from './dry-run.js'
import { file, flagHelp, settings, toggle } from './flags.js'
import { orInterrupted } from './interrupt.js'
import { resolvedConfig } from './resolved-config.js'
import { showMachine } from './train-command.js'
import { type Writing, writingOutput } from './writing-output.js'

const flags = z.object({
  config: file('a config file; flags win over it').optional(),
  set: settings(),
  dryRun: toggle('check config, data and models, estimate the memory, print the resolved options, and stop'),
})

const { schema, unless, example, common, options } = configs.experience!

export const help = (
  args: readonly string[],
): string => `Usage: whetstone experience ${requiredFlags({ schema, unless, options })} [options]
       whetstone experience --config FILE [options]

Makes experiences: responses to prompts with rewards, log-probabilities, KL, advantages and returns, one line of JSON each.

${configHelp({ ...configs.experience!, common, args })}

${flagHelp(flags)}

The config is YAML, JSON, or the default export of a TypeScript module; its paths are relative to the file. The shortest config:

${example.replaceAll(/^/gm, '  ')}
`

export async function run(args: string[]): Promise<number> {
  const { flags: settings, layer } = readConfigFlags(args, flags, { schema, options })
  const { config: path, dryRun } = settings
  const layers = await configLayers({ ...settings, layer })
  requireOptions({ schema, unless }, layers, path)
  const resolved = resolveExperience(await loadDefinitions(layers))
  const { model, adapter, reference, critic, data, rewards, output: to } = resolved.config
  const sources = [data].flat().map(one => (typeof one === 'string' ? one : one.path))
  const inputs = [...(path === undefined ? [] : [path]), ...sources, ...[rewards].flat()]
  const read = { inputs, directories: [model, adapter, reference, critic] }
  return writingOutput(to, read, writing => (dryRun ? checkOnly(resolved, writing) : write(resolved, writing)))
}

type Resolved = ResolvedConfig<ExperienceFile>

async function checkOnly(resolved: Resolved, { report, signal }: Writing): Promise<void> {
  const check = checkExperience({ ...resolved, signal }).catch(error => showMachine(error, report))
  const checked = await orInterrupted(signal, () => true, check)
  process.stdout.write(`${resolvedConfig(resolved.config as RawConfig, resolved.origins)}\n`)
  for (const line of dryRunReport(checked)) report.line(line)
}

async function write(resolved: Resolved, { output, report, signal }: Writing): Promise<void> {
  let opening = true
  const onOpened = (): void => {
    opening = false
  }
  const batches = startExperience({ ...resolved, report, signal, onOpened })
  const next = () => orInterrupted(signal, () => opening, batches.next())
  const infos: ExperienceInfo[] = []
  // The models are loaded before the output is opened.
  let batch = await next()
  const content = async (append: (text: string) => Promise<void>): Promise<void> => {
    for (; !batch.done; batch = await next()) {
      for (const one of batch.value.experiences) await append(experienceLine(one))
      infos.push(batch.value.info)
    }
    if (infos.every(({ samples }) => samples === 0)) throw nothingMade(infos)
  }
  await output.write(content, { signal })
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
function experienceLine(one: Experience): string {
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
  const row = (name: string, text: string): string => `  ${name.padEnd(16)} ${text}`
  const spread = (name: string, values: ExperienceInfo['reward']): string[] =>
    values
      ? [
          row(
            name,
            `${numberText(values.mean)} (min ${numberText(values.min)}, p50 ${numberText(values.p50)}, p80 ${numberText(values.p80)}, max ${numberText(values.max)})`,
          ),
        ]
      : []
  const named = (values: Readonly<Record<string, number>>): string =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${numberText(value)}`)
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
    ...(info.kl === undefined ? [] : [row('KL', `${numberText(info.kl)}, coefficient ${numberText(info.klCoef)}`)]),
    ...(info.entropy === undefined ? [] : [row('entropy', numberText(info.entropy))]),
    ...(info.groups
      ? [row('groups', `${info.groups.count}, ${numberText(100 * info.groups.zeroVarianceShare)} % of equal rewards`)]
      : []),
    ...(info.promptsCut + info.promptsLeftOut > 0
      ? [row('long prompts', `${info.promptsCut} cut, ${info.promptsLeftOut} skipped`)]
      : []),
    row('truncated', `${numberText(100 * info.truncatedShare)} %`),
    ...(Object.keys(info.drops).length > 0 ? [row('dropped', named(info.drops))] : []),
    row('padding avoided', `${numberText(100 * info.paddingAvoided)} %`),
    row(
      'seconds',
      `${stages.map(([name, value]) => `${name} ${numberText(value, 3)}`).join(', ')}, total ${numberText(seconds.total, 3)}`,
    ),
    row('speed', `${numberText(Math.round(info.tokensPerSecond))} tokens/s`),
  ]
}
