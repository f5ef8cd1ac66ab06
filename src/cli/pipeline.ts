import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { openPipeline } from '../api/index.js'
import { didYouMean } from '../errors/index.js'
import { type RlhfPipeline, type StageName, stageNames } from '../pipeline/index.js'
import { type Report, reportFor } from '../progress/index.js'
import type { RawConfig } from '../train/index.js'
import { readConfigFlags } from './config-flags.js'
import { configHelp } from './config-help.js'
import { setLayer } from './config-layers.js'
import { configs } from './configs.js'
import { dryRunReport, stageOutputLines } from './dry-run.js'
import { file, flagHelp, settings, several, text, toggle, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'
import { resolvedConfig } from './resolved-config.js'
import { resumeLine, showMachine, stopping } from './train-command.js'

const flags = z.object({
  config: file('a config file; flags win over it').optional(),
  set: settings(),
  stages: text(
    'NAMES',
    `stages to run, separated by commas: ${stageNames.join(', ')} (default: all); ppo is the last stage for every algorithm`,
  ).optional(),
  resume: toggle('continue a stage that was started and not finished'),
  allowChange: several('KEY', 'allow a resumed stage to change this option, such as ppoIterations; repeat for more'),
  dryRun: toggle(
    'check config, data and models of every stage, estimate the memory, print the resolved options, and stop',
  ),
})

const { example, common, ...reading } = configs.pipeline!

/** None of them has to be given, and most pipelines give them. */
const paths = ['baseModel', 'sftDataPath', 'rewardDataPath', 'ppoDataPath', 'saveDir']

export const help = (
  args: readonly string[],
): string => `Usage: whetstone pipeline --base-model PATH --sft-data-path PATH --reward-data-path PATH --ppo-data-path PATH [options]
       whetstone pipeline --config FILE [options]

Runs supervised fine-tuning, a reward model and PPO, one after another; each stage starts from the result of the one before. All
inputs are checked before the first stage starts. A finished stage with the same config, data and models is skipped. If any of
them changed, the stage runs again, and its old results move to previous/. With --resume, a started stage continues from its last
checkpoint; if an option changed since, --allow-change must name that option.

${configHelp({ ...reading, common: [...paths, ...common], args })}

${flagHelp(flags)}

The config is YAML, JSON, or the default export of a TypeScript module. Paths in it are relative to the file. The shortest config:

${example.replaceAll(/^/gm, '  ')}

Ctrl-C finishes the current optimiser step, saves a checkpoint and prints how to resume. A second Ctrl-C stops at once.
`

export async function run(args: string[]): Promise<number> {
  const { flags: settings, layer } = readConfigFlags(args, flags, reading)
  const { config = {}, set = [], resume = false, allowChange = [], dryRun = false, ...given } = settings
  if (allowChange.length > 0 && !resume) throw new UsageError('--allow-change needs --resume')
  if (settings.config === undefined && set.length === 0 && Object.keys(layer.values).length === 0)
    throw new UsageError('expected --config FILE, or options as flags such as --base-model PATH')
  const stages = given.stages === undefined ? undefined : stagesOf(given.stages)
  const report = reportFor(process.env)
  let saveDir: string | undefined
  return interruptible({
    work: async signal => {
      const made = await openPipeline(config, { report, layers: [setLayer(set), layer] }, signal)
      const options = { resume, allowChange, signal, ...(stages ? { stages } : {}) }
      if (dryRun) return dry(made, options, report)
      saveDir = made.config.saveDir
      signal.addEventListener('abort', () => report.line(stopping), { once: true })
      const result = await made.runFullPipeline(options)
      if (result.outcome === 'stopped') signal.throwIfAborted()
      for (const line of afterwards(saveDir, result.model)) report.line(line)
      return 0
    },
    onInterrupt: () =>
      report.line(
        saveDir !== undefined && existsSync(join(saveDir, 'config.json'))
          ? `Interrupted. The training is saved in ${saveDir}. To resume:\n  ${resumeLine('pipeline', args)}`
          : 'Interrupted. Nothing was written.',
      ),
  })
}

function stagesOf(names: string): StageName[] {
  return names.split(',').map(one => {
    const name = one.trim()
    const found = stageNames.find(stage => stage === name)
    if (!found)
      throw new UsageError(
        `--stages: there is no stage "${name}"${didYouMean(name, stageNames) || `; the stages are ${stageNames.join(', ')} (ppo is the last stage for every algorithm)`}`,
      )
    return found
  })
}

async function dry(
  pipeline: RlhfPipeline,
  options: Parameters<RlhfPipeline['check']>[0],
  report: Report,
): Promise<number> {
  const checked = await pipeline.check(options).catch(error => showMachine(error, report))
  process.stdout.write(`${resolvedConfig(pipeline.config as RawConfig, pipeline.origins)}\n`)
  for (const name of pipeline.unusedOptions) report.line(`${name}: has no effect: no stage of this pipeline uses it`)
  for (const { stage, resolved, models, data } of checked) {
    process.stdout.write(`\n# stage ${stage}\n${resolvedConfig(resolved.config as RawConfig, resolved.origins)}\n`)
    report.line(`\nstage ${stage}`)
    const output = await stageOutputLines(resolved.config.output)
    for (const line of dryRunReport({ models, data, output })) report.line(line)
  }
  return 0
}

/** Where things are, and how to use them. */
function afterwards(saveDir: string, model: string): string[] {
  const best = join(dirname(model), basename(model).replace(/^final/, 'best'))
  const chosen = existsSync(best) ? best : model
  return [
    `${model}: the model; ${join(saveDir, 'samples')}: answers before and after each stage; ${join(saveDir, 'logs')}: curves`,
    ...(chosen === model ? [] : [`${chosen}: the model with the best evaluation`]),
    ...(chosen.includes('reward_model')
      ? []
      : [`  whetstone chat --model ${chosen}`, `  whetstone serve --model ${chosen}`]),
  ]
}
