/** Scores samples again with another reward, to see the difference before it is used. Nothing of the run changes. */
import { join } from 'node:path'
import { type DataSpec, type OpenDatasetOptions, openDataset, type PromptExample } from '../data/index.js'
import { MediaStore, readAudio } from '../media/index.js'
import { decodeRewardInput, loadRewards, type PromptMedia, promptMedia, type RewardInput } from '../reward/index.js'
import { type RunView, runPaths } from '../run/index.js'
import { promptSequence, withSampled } from '../sequence/index.js'
import { placeMedia, Tokenizer } from '../text/index.js'
import { visitOf } from '../train/records.js'
import type { RescoreAnswer } from './api.js'
import { RequestError } from './errors.js'
import type { SelectedSample } from './samples/service.js'

export interface RescoreOptions {
  readonly run: Pick<RunView, 'directory' | 'config'>
  readonly rewards: string
  readonly samples: readonly SelectedSample[]
  readonly matched: number
}

export async function rescore({ run, rewards, samples, matched }: RescoreOptions): Promise<RescoreAnswer> {
  const tokenizer = await Tokenizer.load(join(run.directory, 'tokenizer'))
  const names = new Set(samples.map(({ promptId }) => visitOf(promptId)))
  const { rows, note } = await rowsOf(run.config, tokenizer, names)
  const engine = await loadRewards(rewards, { tokenizer }).catch((error: unknown) => {
    throw new RequestError(400, error instanceof Error ? error.message : String(error))
  })
  try {
    const seenOf = seenMedia(new MediaStore(runPaths(run.directory).media, 1))
    const inputs: RewardInput[] = []
    for (const one of samples) {
      const row = placed(rows.get(visitOf(one.promptId)))
      inputs.push(await inputOf(one, row, { tokenizer, seen: await seenOf(one, row) }))
    }
    const { outcomes } = await engine.compute(inputs)
    const scored = samples.map(({ id, reward: before }, place) => {
      const { prompt, response } = inputs[place]!
      const outcome = outcomes[place]!
      const after = outcome.kind === 'scored' ? outcome.reward : null
      return {
        id,
        prompt,
        response,
        before,
        after,
        failure: outcome.kind === 'failed' ? `${outcome.source}: ${outcome.message}` : null,
        components: outcome.kind === 'scored' ? outcome.components : {},
      }
    })
    return {
      ...{ rewards, samples: scored, matched, note },
      mean: { before: meanOf(scored.map(one => one.before)), after: meanOf(scored.map(one => one.after)) },
      changed: scored.filter(({ before, after }) => before !== after).length,
      otherBest: otherBest(samples, scored),
    }
  } finally {
    await engine.close()
  }
}

type Row = Pick<PromptExample, 'prompt' | 'row' | 'label' | 'target' | 'images' | 'videos' | 'audios' | 'mediaRoot'>
type PlacedRow = Partial<Row> & Pick<RewardInput, 'messages'>

/** The prompt with a part for each image and video, as the run encoded it. */
function placed(row: Row | undefined): PlacedRow {
  if (!row) return {}
  const { prompt, images, videos } = placeMedia(row.prompt, row)
  const media = { images: images as Row['images'], videos: videos as Row['videos'] }
  return { ...row, ...media, prompt, messages: typeof prompt === 'string' ? undefined : prompt }
}

/** Images, videos and sounds of a sample as its run read them; samples of one prompt share them. */
function seenMedia(store: MediaStore) {
  const known = new Map<string, Promise<PromptMedia & Pick<RewardInput, 'audios'>>>()
  const read = async ({ media: kept }: SelectedSample, { images = [], videos = [], audios, mediaRoot }: PlacedRow) => {
    const items = await Promise.all(kept.map(item => store.read(item)))
    const place = { baseDirectory: mediaRoot, root: mediaRoot }
    const sounds = audios && (await Promise.all(audios.map(audio => readAudio(audio, place))))
    return { ...promptMedia(items, { images, videos, baseDirectory: mediaRoot }), ...(sounds && { audios: sounds }) }
  }
  return (one: SelectedSample, row: PlacedRow) => {
    const key = `${one.iteration} ${one.promptId}`
    const found = known.get(key) ?? read(one, row)
    known.set(key, found)
    return found
  }
}

/** What a reward was told of the sample when the run scored it. */
async function inputOf(
  one: SelectedSample,
  { row: columns = {}, label, target, prompt, messages: asked }: PlacedRow,
  { tokenizer, seen }: { tokenizer: Tokenizer; seen: PromptMedia & Pick<RewardInput, 'audios'> },
): Promise<RewardInput> {
  const { promptId, promptIds, responseIds, sample, finish, episode } = one
  const { images, videos, media, audios } = seen
  const sequence = withSampled(promptSequence({ ids: promptIds, promptId, row: columns, media }), responseIds)
  const messages = prompt === undefined ? one.messages : asked
  const known = { sequence, messages, label, target, finishReason: finish, sample }
  const pictures = {
    ...(images.length > 0 && { images }),
    ...(videos.length > 0 && { videos }),
    ...(audios && { audios }),
  }
  const whole = await decodeRewardInput(tokenizer, { ...known, ...pictures })
  if (!episode) return whole
  const { lastIds, turns, reward: environmentReward } = episode
  const response = await tokenizer.decode(lastIds, { skipSpecialTokens: true })
  const responseRaw = await tokenizer.decode(lastIds)
  const conversation = [...(one.messages ?? []), ...(one.answer as NonNullable<RewardInput['messages']>)]
  return { ...whole, response, responseRaw, answer: response, turns, environmentReward, messages: conversation }
}

/** Rows of the data that are looked at for those of the samples. */
const mostRows = 200_000

/** Label, target and columns of rows, from the data of the run. Where it is gone, rewards that need them say so. */
async function rowsOf(
  { config }: RunView['config'],
  tokenizer: Tokenizer,
  wanted: ReadonlySet<string>,
): Promise<{ rows: ReadonlyMap<string, Row>; note: string | null }> {
  const found = new Map<string, Row>()
  const options = config as unknown as OpenDatasetOptions & { readonly data: DataSpec }
  // The template of the run is in its tokenizer.
  const chatTemplate = options.chatTemplate === 'none' ? 'none' : 'auto'
  try {
    const all = { ...options, chatTemplate, trainOn: 'assistant' as const, baseDirectory: process.cwd() }
    const dataset = await openDataset('prompts', options.data, all)
    try {
      const rows = dataset.train(tokenizer)
      for (let read = 0; read < Math.min(rows.size, mostRows) && found.size < wanted.size; read += 64)
        for (const row of await rows.take(64)) if (wanted.has(row.promptId)) found.set(row.promptId, row)
    } finally {
      await dataset.close()
    }
  } catch (error) {
    // Moved or changed since: rewards of the text alone still work.
    if (!(error instanceof Error)) throw error
    return { rows: found, note: `${unknownRows} (${error.message})` }
  }
  const gone = wanted.size - found.size
  return {
    rows: found,
    note: gone === 0 ? null : `${unknownRows} of ${gone} prompts, which are not in the data any more`,
  }
}

const unknownRows = 'the reward was told no label, target and columns'

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / known.length
}

/** Groups of which at least two samples were scored again, and whose best one is another now. */
function otherBest(samples: readonly SelectedSample[], scored: RescoreAnswer['samples']): number {
  const groups = new Map<string, RescoreAnswer['samples'][number][]>()
  for (const [place, { iteration, promptId }] of samples.entries()) {
    const key = `${iteration} ${promptId}`
    groups.set(key, [...(groups.get(key) ?? []), scored[place]!])
  }
  const best = (group: readonly RescoreAnswer['samples'][number][], of: 'before' | 'after'): string =>
    group.reduce((a, b) => ((b[of] ?? Number.NEGATIVE_INFINITY) > (a[of] ?? Number.NEGATIVE_INFINITY) ? b : a)).id
  return [...groups.values()].filter(group => group.length > 1 && best(group, 'before') !== best(group, 'after')).length
}
