/** Flags of people, which of two samples is better, and both as data. */
import { z } from 'zod'
import { schemaProblems, valueIn } from '../../errors/index.js'
import type { ExportedPair, ExportedSample, FlagsAnswer } from '../api.js'
import { RequestError } from '../errors.js'
import type { Exchange } from '../exchange.js'
import { parseSampleId } from '../samples/query.js'
import type { SelectedSample } from '../samples/service.js'
import type { Served } from '../server.js'
import type { Handler } from './index.js'

const id = z.string().min(1).max(2000)
const flagSchema = z.strictObject({
  id,
  label: z.enum(['good', 'bad', 'look']).nullable(),
  note: z.string().max(10_000).optional(),
})
const pairSchema = z.strictObject({ first: id, second: id, better: z.enum(['first', 'second']).nullable() })

/** What a request must look like; a 400 says what is wrong. */
export async function checkedBody<S extends z.ZodType>(exchange: Exchange, schema: S): Promise<z.output<S>> {
  const body = await exchange.body()
  const found = schema.safeParse(body)
  if (found.success) return found.data
  throw new RequestError(400, schemaProblems(found.error, { known: [], valueAt: valueIn(body) }).join('; '))
}

export const flagsRoute: Handler = async ({ catalog, flagsOf }, { parts }): Promise<FlagsAnswer> =>
  flagsOf((await catalog.run(parts.run!)).directory).answer()

export const flagRoute: Handler = async ({ catalog, flagsOf }, exchange): Promise<FlagsAnswer> => {
  const { directory } = await catalog.run(exchange.parts.run!)
  const { note, ...flag } = await checkedBody(exchange, flagSchema)
  parseSampleId(flag.id)
  const flags = flagsOf(directory)
  await flags.flag({ ...flag, ...(note === undefined ? {} : { note }) })
  return flags.answer()
}

export const pairRoute: Handler = async (served, exchange): Promise<FlagsAnswer> => {
  const { catalog, flagsOf } = served
  const { directory } = await catalog.run(exchange.parts.run!)
  const pair = await checkedBody(exchange, pairSchema)
  const [first, second] = [parseSampleId(pair.first), parseSampleId(pair.second)]
  if (first.promptId !== second.promptId || pair.first === pair.second)
    throw new RequestError(400, 'a pair is two samples of one prompt')
  if (pair.better !== null) {
    const samples = await samplesOf(served, directory, [pair.first, pair.second])
    for (const one of [pair.first, pair.second])
      if (!hasText(samples.get(one)))
        throw new RequestError(400, `sample ${one} has no text, and a training on preferences needs the text of both`)
  }
  const flags = flagsOf(directory)
  await flags.prefer(pair)
  return flags.answer()
}

export const exportRoute: Handler = async (served, exchange) => {
  const { name, directory } = await served.catalog.run(exchange.parts.run!)
  const what = exchange.query.get('what') ?? 'flags'
  if (what !== 'flags' && what !== 'pairs') throw new RequestError(400, 'what: expected flags or pairs')
  const { flags, pairs } = await served.flagsOf(directory).answer()
  const ids =
    what === 'flags' ? flags.map(flag => flag.id) : pairs.flatMap(({ chosen, rejected }) => [chosen, rejected])
  const samples = await samplesOf(served, directory, ids)
  const rows: (ExportedSample | ExportedPair)[] =
    what === 'flags'
      ? flags.flatMap(({ id: of, label, note }) => {
          const sample = samples.get(of)
          return sample ? [exported(name, sample, { label, note })] : []
        })
      : pairs.flatMap(({ chosen, rejected }) => {
          const [better, worse] = [samples.get(chosen), samples.get(rejected)]
          return better && worse && hasText(better) && hasText(worse)
            ? [{ prompt: promptOf(better), chosen: better.answer, rejected: worse.answer }]
            : []
        })
  exchange.bytes(200, Buffer.from(rows.map(row => `${JSON.stringify(row)}\n`).join('')), {
    'content-type': 'application/jsonl; charset=utf-8',
    'cache-control': 'no-store',
    'content-disposition': `attachment; filename="${what}.jsonl"`,
  })
}

async function samplesOf(
  { services }: Served,
  directory: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SelectedSample>> {
  const service = await services.of(directory)
  const asked = { where: '', search: '', ids: [...new Set(ids)], limit: ids.length, flags: new Map() }
  const { samples } = await service.ask('selected', asked)
  return new Map(samples.map(sample => [sample.id, sample]))
}

/** Whether a training on preferences can take its answer: a row without text is a bad one. */
function hasText(sample: SelectedSample | undefined): boolean {
  if (!sample) return false
  const { answer } = sample
  if (typeof answer === 'string') return answer.trim() !== ''
  return answer.some(({ role, content }) => role === 'assistant' && String(content).trim() !== '')
}

const promptOf = ({ messages, promptText }: SelectedSample): ExportedSample['prompt'] => messages ?? promptText

function exported(
  run: string,
  sample: SelectedSample,
  { label, note }: Pick<ExportedSample, 'label' | 'note'>,
): ExportedSample {
  const { answer, reward, iteration, promptId, sample: place } = sample
  const key = { run, iteration, prompt_id: promptId, sample: place }
  return { prompt: promptOf(sample), response: answer, reward, label, note, ...key }
}
