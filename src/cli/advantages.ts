import {
  type AdvantageInfo,
  advantageOptionWarnings,
  type DerivedRollout,
  deriveAdvantages,
  type ResolvedAdvantageOptions,
  RolloutError,
  type RolloutSample,
} from '../maths/index.js'
import { count, numberText } from '../progress/index.js'
import { advantageFlags, advantageHelp, advantageOptions, foldSwitches, withFlagNames } from './advantage-flags.js'
import { readSamples, throwBadSamples } from './advantages-input.js'
import { parseOptions, UsageError } from './flags.js'
import { type Writing, writingOutput } from './writing-output.js'

export const help = `Usage: whetstone advantages --input FILE.jsonl --output FILE.jsonl --estimator NAME [options]

Recomputes advantages from saved samples, with another estimator, KL or clipping. A line of the input is one sample

  {"prompt_id":0, "reward":1.5, "logprobs":[...], "ref_logprobs":[...], "values":[...]}

with one number per response token. The same line of the output is {"advantages":[...],"returns":[...]}. All lines are one rollout.
"prompt_id" tells the samples of one prompt from those of another and is needed by the estimators that compare them; "ref_logprobs" are
needed if the KL coefficient is above 0. gae needs "values".

${advantageHelp}

Bad lines are listed with their numbers before anything is written. The output file appears when it is complete;
--output - streams to standard output.
`

interface Settings {
  input: string
  output: string
  options: ResolvedAdvantageOptions
}

export async function run(args: string[]): Promise<number> {
  const settings = readSettings(args)
  return writingOutput(settings.output, { inputs: [settings.input] }, writing => advantages(settings, writing))
}

function readSettings(args: string[]): Settings {
  const { values } = parseOptions(foldSwitches(args), {
    input: { type: 'string' },
    output: { type: 'string' },
    ...advantageFlags,
  })
  const { input, output } = values
  if (typeof input !== 'string' || input === '') throw new UsageError('--input: expected a file')
  if (typeof output !== 'string' || output === '') throw new UsageError('--output: expected a file')
  return { input, output, options: advantageOptions(values) }
}

async function advantages({ input, options }: Settings, { output, report, signal }: Writing): Promise<void> {
  for (const warning of advantageOptionWarnings(options)) report.line(`Warning: ${withFlagNames(warning)}`)
  const samples = await readSamples(input, signal)
  const derived = derive(input, samples, options)
  await output.write(
    async write => {
      for (const text of chunks(derived.samples)) {
        signal.throwIfAborted()
        await write(text)
      }
    },
    { signal },
  )
  report.line(`${output.name}: ${summary(derived.info)}`)
}

function derive(file: string, samples: readonly RolloutSample[], options: ResolvedAdvantageOptions): DerivedRollout {
  try {
    return deriveAdvantages({ samples, options })
  } catch (error) {
    if (error instanceof RolloutError) throwBadSamples(file, error.problems)
    throw error
  }
}

/** Lines are written this many characters at a time: the text of a large rollout is never in memory as a whole. */
const chunkLength = 1 << 20

function* chunks(samples: DerivedRollout['samples']): Generator<string> {
  let text = ''
  for (const { advantages, returns } of samples) {
    text += `${JSON.stringify({ advantages: Array.from(advantages), returns: Array.from(returns) })}\n`
    if (text.length < chunkLength) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

function summary({ samples, tokens, groups, reward, kl, klCoef, ...info }: AdvantageInfo): string {
  const { show } = count('tokens', 0)
  const parts = [`${count(samples === 1 ? 'sample' : 'samples', 0).show(samples)}, ${show(tokens)}`]
  if (groups)
    parts.push(`${groups.count === 1 ? '1 group' : `${groups.count} groups`}, ${groups.zeroVariance} of equal rewards`)
  if (reward) parts.push(`reward ${numberText(reward.mean)} (${numberText(reward.min)} to ${numberText(reward.max)})`)
  if (kl !== undefined) parts.push(`KL ${numberText(kl)} at ${klCoef}`)
  if (info.advantages) parts.push(`advantages ${numberText(info.advantages.mean)} ± ${numberText(info.advantages.std)}`)
  if (info.rewardClipFraction > 0) parts.push(`${numberText(100 * info.rewardClipFraction)} % of rewards clipped`)
  if (info.advantageClipFraction > 0)
    parts.push(`${numberText(100 * info.advantageClipFraction)} % of advantages clipped`)
  return parts.join('; ')
}
