import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { didYouMean } from '../errors/index.js'
import { createRlhfPipeline, pipelineSchema, type RlhfPipeline, type StageName, stageNames } from '../pipeline/index.js'
import { type Report, reportFor } from '../progress/index.js'
import type { RawConfig } from '../train/index.js'
import { configs } from './configs.js'
import { dryRunReport } from './dry-run.js'
import { file, flagHelp, readFlags, settings, several, text, toggle, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'
import { optionHelp, resolvedConfig } from './resolved-config.js'
import { setLayer } from './set-layer.js'
import { resumeLine, showMachine, stopping } from './train-command.js'

const flags = z.object({
  config: file('the config'),
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

export const help = `Usage: whetstone pipeline --config FILE [--set KEY=VALUE ...] [--stages NAMES]
                          [--resume [--allow-change KEY ...]] [--dry-run]

Runs supervised fine-tuning, a reward model and PPO, one after another; each stage starts from the result of the one before. All
inputs are checked before the first stage starts. A finished stage with the same config, data and models is skipped. If any of
them changed, the stage runs again, and its old results move to previous/. With --resume, a started stage continues from its last
checkpoint; if an option changed since, --allow-change must name that option.

The config is YAML, JSON, or the default export of a TypeScript module. Paths in it are relative to the file. The shortest config:

${configs.pipeline!.example.replaceAll(/^/gm, '  ')}

${flagHelp(flags)}

Ctrl-C finishes the current optimiser step, saves a checkpoint and prints how to resume. A second Ctrl-C stops at once.

Options of the config, with dots for sections (docs/pipeline.md explains them; \`whetstone schema pipeline\` prints a JSON Schema):

${optionHelp(pipelineSchema)}
`

export async function run(args: string[]): Promise<number> {
  const { config, set = [], resume = false, allowChange = [], dryRun = false, ...given } = readFlags(args, flags)
  if (allowChange.length > 0 && !resume) throw new UsageError('--allow-change needs --resume')
  const stages = given.stages === undefined ? undefined : stagesOf(given.stages)
  const report = reportFor(process.env)
  const pipeline = await createRlhfPipeline(config, { report, layers: [setLayer(set)] })
  const { saveDir } = pipeline.config
  return interruptible({
    work: async signal => {
      if (dryRun) return dry(pipeline, { stages, report, signal })
      signal.addEventListener('abort', () => report.line(stopping), { once: true })
      const result = await pipeline.runFullPipeline({ ...(stages ? { stages } : {}), resume, allowChange, signal })
      if (result.outcome === 'stopped') signal.throwIfAborted()
      for (const line of afterwards(pipeline, result.model)) report.line(line)
      return 0
    },
    onInterrupt: () =>
      report.line(
        existsSync(join(saveDir, 'config.json')) && !dryRun
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
  { stages, report, signal }: { stages: readonly StageName[] | undefined; report: Report; signal: AbortSignal },
): Promise<number> {
  const checked = await pipeline
    .check({ ...(stages ? { stages } : {}), signal })
    .catch(error => showMachine(error, report))
  process.stdout.write(`${resolvedConfig(pipeline.config as RawConfig, pipeline.origins)}\n`)
  for (const name of pipeline.unusedOptions) report.line(`${name}: has no effect: no stage of this pipeline uses it`)
  for (const { stage, resolved, models, data } of checked) {
    process.stdout.write(`\n# stage ${stage}\n${resolvedConfig(resolved.config as RawConfig, resolved.origins)}\n`)
    report.line(`\nstage ${stage}`)
    for (const line of dryRunReport({ models, data })) report.line(line)
  }
  return 0
}

/** Where things are, and how to use them. */
function afterwards({ config: { saveDir } }: RlhfPipeline, model: string): string[] {
  return [
    `${model}: the model; ${join(saveDir, 'samples')}: answers before and after each stage; ${join(saveDir, 'logs')}: curves`,
    ...(model.endsWith('best_model') && model.includes('reward_model')
      ? []
      : [`  whetstone chat --model ${model}`, `  whetstone serve --model ${model}`]),
  ]
}
