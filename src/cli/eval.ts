import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { z } from 'zod'
import { evaluate } from '../api/index.js'
import { didYouMean, InputError } from '../errors/index.js'
import {
  type AnswerRecord,
  bleuTokenizers,
  type EvaluationMetric,
  type EvaluationOptions,
  type EvaluationResult,
  evaluationMetrics,
  evaluationTable,
  plotEvaluation,
  resolveEvaluation,
} from '../evaluate/index.js'
import { type Output, openOutput, readConfigFile, writeFileAtomic } from '../files/index.js'
import { toPng, toSvg } from '../plot/index.js'
import { reportFor } from '../progress/index.js'
import { rewardForms } from '../reward/index.js'
import { fileLayer, type RlConfig, resolveConfig, trainings } from '../train/index.js'
import { promptTemplateFlag } from './chat-template-flag.js'
import { devicesFlag } from './device-flag.js'
import { modelFlags, samplingFlags } from './engine-flags.js'
import { choice, directory, file, flagHelp, flagName, integer, number, readFlags, text, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'
import { mediaFlags, mediaOption } from './media-flags.js'

const flags = z.object({
  model: modelFlags.shape.model,
  adapter: modelFlags.shape.adapter,
  data: file('prompts, or conversations with answers: JSONL, JSON, CSV, Parquet'),
  columns: text('NAMES', 'column names in the file, such as prompt=question,target=answer').optional(),
  reference: directory('a second model that answers the same prompts, for the win rate').optional(),
  reward: text('PATH', rewardForms).optional(),
  environment: file(
    'environment of episodes: a file that exports one as default; the answers are then episodes',
  ).optional(),
  tools: text(
    'NAMES',
    'tools that the model may call before it answers: calculator, or files, with commas between',
  ).optional(),
  episode: text('JSON', 'limits of episodes, such as {"turns": 6}').optional(),
  config: file(
    'a config of rl: its environment, tools, episode, rewards, maxNewTokens, media and templates are used here; flags win over it',
  ).optional(),
  metrics: text(
    'NAMES',
    `metrics to measure, of ${evaluationMetrics.join(', ')} (default: all that the data and the reward allow)`,
  ).optional(),
  limit: integer('use only the first N rows (default: all)', { min: 1 }).optional(),
  samples: integer('answers per prompt; pass@k is measured for k up to this', { min: 1 }).default(1),
  temperature: samplingFlags.shape.temperature.meta({
    description: 'sampling temperature; 0: greedy decoding (default: 0 for one answer, 1 for several)',
    placeholder: 'T',
  }),
  maxNewTokens: integer('most tokens of a response (default 256)', { min: 1 }).optional(),
  correctAt: number({
    description: 'an answer with at least this reward is correct (default 1; with a reward model there is no accuracy)',
    placeholder: 'R',
    expected: 'a number',
    accepts: () => true,
  }).optional(),
  bleuTokenizer: choice(
    ['auto', ...bleuTokenizers],
    'NAME',
    'tokenizer of sacrebleu: 13a, zh for Chinese, or char for single characters; auto: from the script of the targets',
  ).default('auto'),
  promptTemplate: text('TEXT', 'template of a prompt; it contains {prompt}').optional(),
  systemPrompt: text('TEXT', 'system message for conversations without one').optional(),
  chatTemplate: promptTemplateFlag,
  maxBadRows: integer('most bad rows before the command stops; bad rows are skipped', { min: 0 }).default(0),
  ...mediaFlags.shape,
  device: modelFlags.shape.device,
  devices: devicesFlag,
  seed: samplingFlags.shape.seed,
  out: file('file for the metrics, as JSON').optional(),
  answers: file('file for all answers with their rewards, one line of JSON each').optional(),
  plot: file('file for a plot of the metrics: .svg or .png').optional(),
})

export const help = `Usage: whetstone eval --model DIR --data FILE [--reference DIR] [--reward FILE|DIR] [options]

Measures a model and prints a table:

  perplexity     of the assistant messages, if rows have answers
  reward         mean and standard deviation, with --reward; failed rewards are counted and not part of the mean
  accuracy       share of correct answers, and pass@k with --samples, with a 95 % interval (Wilson)
  winRate        how often answers get a higher reward than those of --reference; ties count half, 95 % interval (Wilson)
  bleu, rougeL   of answers against references, if rows have them; same numbers as sacrebleu and rouge-score

With --environment or --tools, an answer is an episode: the last text of the model is compared, and the environment's reward counts.
The same command gives the same numbers. All inputs are checked before a model is loaded.

${flagHelp(flags)}

Exit code 1 if no prompt got an answer, or no answer got a reward.
`

type Settings = z.output<typeof flags>

const encoders: Readonly<Record<string, typeof toPng | typeof toSvg>> = { '.svg': toSvg, '.png': toPng }

export async function run(args: string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const { out, answers, plot } = settings
  const options = optionsOf(settings, await sharedWith(settings.config, settings))
  if (plot !== undefined && !encoders[extname(plot).toLowerCase()])
    throw new UsageError(`--plot: expected a file that ends in .svg or .png, got "${plot}"`)
  const outputs = await Promise.all([out, answers, plot].map(path => outputFor(path, settings)))
  const report = reportFor(process.env)
  return interruptible({
    work: async signal => {
      const result = await evaluate({ ...options, report, signal })
      await write(result, { settings, outputs, signal })
      const table = evaluationTable(result.evaluation)
      // If a file streams to standard output, nothing else is printed there.
      if (outputs.some(output => output?.kind === 'stream')) report.line(table.trimEnd())
      else process.stdout.write(table)
      for (const output of outputs) if (output?.kind === 'file') report.line(`wrote ${output.name}`)
      return hasNothing(result) ? 1 : 0
    },
    onInterrupt: () => report.line('Interrupted. Nothing was written.'),
  })
}

function optionsOf(settings: Settings, trained: Partial<EvaluationOptions>): EvaluationOptions {
  const { out: _, answers: __, plot: ___, config: ____, columns, data, metrics, tools, episode, ...others } = settings
  const { minPixels, maxPixels, videoMinPixels, videoMaxPixels, mediaUrls, ffmpeg, ...rest } = others
  const { media = {} } = mediaOption({ minPixels, maxPixels, videoMinPixels, videoMaxPixels, mediaUrls, ffmpeg })
  const options: EvaluationOptions = {
    ...trained,
    ...rest,
    media: { ...trained.media, ...media },
    ...(rest.chatTemplate === 'auto' && trained.chatTemplate !== undefined
      ? { chatTemplate: trained.chatTemplate }
      : {}),
    ...(tools === undefined ? {} : { tools: tools.split(',').map(name => name.trim()) }),
    ...(episode === undefined ? {} : { episode: limitsOf(episode) }),
    data: columns === undefined ? data : { path: data, columns: columnsOf(columns) },
    ...(metrics === undefined ? {} : { metrics: metricsOf(metrics) }),
  }
  try {
    resolveEvaluation({ ...options })
  } catch (error) {
    // Named as it was typed.
    if (!(error instanceof InputError)) throw error
    throw new UsageError(error.message.replace(/^[a-z]+[a-zA-Z]*(?=[:.])/gm, flagName), { cause: error })
  }
  return options
}

/** What an evaluation shares with the training of a config. */
async function sharedWith(config: string | undefined, given: Settings): Promise<Partial<EvaluationOptions>> {
  if (config === undefined) return {}
  const { schema, options } = trainings.rl
  const { values } = fileLayer(config, await readConfigFile(config))
  const names = [...['environment', 'tools', 'episode', 'rewards', 'maxNewTokens', 'media'], ...templateNames]
  const layer = { ...fileLayer(config, pick(values, names)) }
  const { config: read } = resolveConfig(
    schema.pick(Object.fromEntries(names.map(name => [name, true])) as Record<string, true> & Record<number, never>),
    [layer],
    options,
  )
  const { rewards, environment, tools, ...rest } = read as Partial<RlConfig>
  const own = given.environment === undefined && given.tools === undefined
  const kept = { ...rest, ...(own ? { environment, tools } : {}), reward: rewards }
  const wanted = Object.entries(kept).filter(([, value]) => value !== undefined)
  return Object.fromEntries(wanted) as Partial<EvaluationOptions>
}

const templateNames = ['promptTemplate', 'systemPrompt', 'chatTemplate']

const pick = (values: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)))

function limitsOf(text: string): EvaluationOptions['episode'] {
  try {
    return JSON.parse(text) as EvaluationOptions['episode']
  } catch (error) {
    throw new UsageError(`--episode: expected JSON such as {"turns": 6}, got "${text}"`, { cause: error })
  }
}

function columnsOf(text: string): Record<string, string> {
  const pairs = text.split(',').map(pair => pair.split('=').map(part => part.trim()))
  for (const pair of pairs)
    if (pair.length !== 2 || pair.includes(''))
      throw new UsageError(`--columns: expected names such as prompt=question,target=answer, got "${text}"`)
  return Object.fromEntries(pairs as [string, string][])
}

function metricsOf(text: string): EvaluationMetric[] {
  return text.split(',').map(part => {
    const name = part.trim()
    const metric = evaluationMetrics.find(one => one === name)
    if (!metric)
      throw new UsageError(
        `--metrics: there is no "${name}"${didYouMean(name, evaluationMetrics) || `; there are ${evaluationMetrics.join(', ')}`}`,
      )
    return metric
  })
}

async function outputFor(path: string | undefined, settings: Settings): Promise<Output | undefined> {
  if (path === undefined) return undefined
  const { model, reference, data, reward } = settings
  const inputs = [data, ...(reward === undefined ? [] : [reward])].filter(one => existsSync(one))
  return openOutput(path, { inputs, directories: [model, ...(reference === undefined ? [] : [reference])] })
}

interface Writing {
  settings: Settings
  outputs: readonly (Output | undefined)[]
  signal: AbortSignal
}

async function write(result: EvaluationResult, { settings: { plot }, outputs, signal }: Writing): Promise<void> {
  const [out, answers] = outputs
  await out?.write(append => append(`${JSON.stringify(result.evaluation, null, 2)}\n`), { signal })
  const lines = (model: 'model' | 'reference', records: readonly AnswerRecord[]) =>
    records.map(record => `${JSON.stringify({ model, ...record })}\n`).join('')
  const all = lines('model', result.answers.model) + lines('reference', result.answers.reference)
  await answers?.write(append => append(all), { signal })
  if (plot !== undefined) await writeFileAtomic(plot, encoders[extname(plot).toLowerCase()]!(plotEvaluation(result)))
}

function hasNothing({ evaluation: { model } }: EvaluationResult): boolean {
  return model.answers?.answered === 0 || (model.rewards !== undefined && model.rewards.scored === 0)
}
