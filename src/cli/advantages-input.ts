import { z } from 'zod'
import { InputError } from '../errors/index.js'
import { BadLines, numberedLines, parseJsonLine } from '../files/index.js'
import type { RolloutSample, SampleProblem } from '../maths/index.js'
import { withFlagNames } from './advantage-flags.js'

const tokens = z.array(z.number())
const name = z.union([z.string(), z.number()], { error: 'expected a string or a number' }).nullish()

/** A line of saved samples. Null is the same as leaving a field out; fields of other names are not read. */
const lineSchema = z.object({
  prompt_id: name,
  promptId: name,
  reward: z.number(),
  logprobs: tokens.min(1, { error: 'expected at least one number' }),
  ref_logprobs: tokens.nullish(),
  values: tokens.nullish(),
})

const fields = Object.keys(lineSchema.shape)

/** Names of the fields of a sample in the file. */
const fieldNames: Readonly<Record<keyof RolloutSample, string>> = {
  promptId: 'prompt_id',
  reward: 'reward',
  length: 'logprobs',
  logprobs: 'logprobs',
  refLogprobs: 'ref_logprobs',
  values: 'values',
  turns: 'turns',
}

/** All samples of a file, in the order of its lines. Bad lines are one InputError that lists them. */
export async function readSamples(file: string, signal: AbortSignal): Promise<RolloutSample[]> {
  const samples: RolloutSample[] = []
  const bad = new BadLines(file)
  for await (const { text, line } of numberedLines(file, { signal })) {
    try {
      samples.push(parseSample(text))
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      bad.add(line, error.message)
    }
  }
  bad.throwIfAny()
  if (samples.length === 0) throw new InputError(`${file}: no lines`)
  return samples
}

function parseSample(text: string): RolloutSample {
  const value = parseJsonLine(text)
  const parsed = lineSchema.safeParse(value)
  if (!parsed.success) throw new InputError(issueText(parsed.error.issues[0]!), { cause: parsed.error })
  refuseMisspelt(value as object)
  const { reward, logprobs, ref_logprobs: refLogprobs, values } = parsed.data
  const promptId = parsed.data.prompt_id ?? parsed.data.promptId ?? undefined
  return {
    reward,
    length: logprobs.length,
    logprobs: Float64Array.from(logprobs),
    ...(promptId === undefined ? {} : { promptId }),
    ...(refLogprobs ? { refLogprobs: Float64Array.from(refLogprobs) } : {}),
    ...(values ? { values: Float64Array.from(values) } : {}),
  }
}

function issueText({ path, message }: z.core.$ZodIssue): string {
  const [field, place] = path
  if (field === undefined) return 'expected an object such as {"prompt_id":0,"reward":1,"logprobs":[-0.5,-1.2]}'
  const where = place === undefined ? String(field) : `${String(field)}[${String(place)}]`
  if (message.endsWith('received undefined'))
    return `${where}: missing; ${message.replace(/^.*(expected .*),.*$/, '$1')}`
  return `${where}: ${message.replace('Invalid input: ', '').replace('received', 'got')}`
}

/** A misspelt `ref_logprobs` would be ignored, and KL with it. */
function refuseMisspelt(row: object): void {
  const plain = (name: string) => name.toLowerCase().replaceAll('_', '')
  if ('group' in row && row.group !== null) throw new InputError('there is no field "group"; did you mean prompt_id?')
  for (const name of Object.keys(row)) {
    if (name in lineSchema.shape) continue
    const meant = fields.find(field => plain(field) === plain(name))
    if (meant !== undefined) throw new InputError(`${name}: the field is called ${meant}`)
  }
}

/** Reports problems of samples with their line numbers. */
export function throwBadSamples(file: string, problems: readonly SampleProblem[]): void {
  const bad = new BadLines(file)
  for (const { sample, field, message } of problems)
    bad.add(sample + 1, `${fieldNames[field]}: ${withFlagNames(message)}`)
  bad.throwIfAny()
}
