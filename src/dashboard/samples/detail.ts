/** One sample whole: its conversation, its pictures, and what rewards said of it. */
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Journal, runPaths } from '../../run/index.js'
import type { Tokenizer } from '../../text/index.js'
import { dataRowOf, type JournalledSample, journalledSamples } from '../../train/records.js'
import type { Flag, SampleDetail, Turn } from '../api.js'
import { RequestError } from '../errors.js'
import { groupReasons } from './drop-reasons.js'
import { chatTurns } from './messages.js'
import { parseSampleId, rowOf, rowShown } from './query.js'
import type { SampleIndex } from './sample-index.js'
import { settingsAt } from './settings.js'

/** Samples of the iteration that was read last, until the memory is needed: questions about several of them follow each other. */
const lastRead = new WeakMap<SampleIndex, { key: string; samples: WeakRef<readonly JournalledSample[]> }>()

async function iterationOf(index: SampleIndex, iteration: number): Promise<readonly JournalledSample[]> {
  const key = `${iteration} ${index.generation}`
  const last = lastRead.get(index)
  const known = last?.key === key ? last.samples.deref() : undefined
  if (known) return known
  const view = await index.view()
  const settings = await settingsAt(view, iteration)
  const { samples } = await journalledSamples(view.journal as Journal, iteration, settings)
  lastRead.set(index, { key, samples: new WeakRef(samples) })
  return samples
}

export async function recordOf(index: SampleIndex, id: string): Promise<JournalledSample> {
  const { iteration, sample, promptId } = parseSampleId(id)
  const samples = await iterationOf(index, iteration)
  const found = samples.find(one => one.promptId === promptId && one.sample === sample)
  if (!found) throw new RequestError(404, `the journal has no sample ${JSON.stringify(id.slice(0, 200))}`)
  return found
}

export async function askSample(
  index: SampleIndex,
  { id, flags }: { id: string; flags: ReadonlyMap<string, Flag> },
): Promise<SampleDetail> {
  const found = await recordOf(index, id)
  const row = rowOf(index, id)
  if (row === undefined) throw new RequestError(404, 'the sample is not indexed yet; try again in a moment')
  const { prompt: _, response: __, ...shown } = await rowShown(index, row, flags)
  const { outcome, reward } = found
  const tokenizer = await index.tokenizer()
  const prompt = await tokenizer.decode(found.promptIds)
  const response = outcome.kind === 'completed' ? await tokenizer.decode(outcome.responseIds) : ''
  const done = outcome.kind === 'completed' ? outcome : undefined
  const failure = reward?.kind === 'failed' ? reward : undefined
  const why = outcome.kind === 'completed' ? failure?.message : outcome.message
  return {
    ...shown,
    prompt,
    response,
    turns: found.episode ? await episodeTurns(found.episode, tokenizer) : turnsOf(prompt, response),
    row: dataRowOf(found.promptId),
    droppedMessage: why ?? (shown.dropped ? (groupReasons[shown.dropped] ?? shown.dropped) : null),
    rewardMetrics: reward?.kind === 'scored' ? reward.metrics : {},
    rewardFailure: failure ? { source: failure.source, reason: failure.reason, message: failure.message } : null,
    policyVersion: done?.policyVersion ?? null,
    seed: outcome.seed ?? null,
    timings: done?.timings
      ? {
          startedMs: done.timings.startedMs,
          firstTokenMs: done.timings.firstTokenMs ?? null,
          finishedMs: done.timings.finishedMs,
        }
      : null,
    media: await Promise.all(found.media.map(({ kind, hash }) => pictureOf(index.directory, kind, hash))),
    record: readable({
      ...(found.episode ? { turns: found.episode.turns, end: found.episode.end } : { outcome }),
      reward,
    }),
  }
}

/** For people and programs: lists of numbers, where the journal has bytes. */
function readable(value: unknown): unknown {
  if (value instanceof Float32Array) return Array.from(value, number => Number(number.toPrecision(8)))
  if (ArrayBuffer.isView(value)) return Array.from(value as Int32Array)
  if (Array.isArray(value)) return value.map(readable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, readable(one)]))
}

function turnsOf(prompt: string, response: string): Turn[] {
  const turns = chatTurns(prompt + response)
  if (turns.length > 0) return turns
  return [
    { role: 'prompt', text: prompt },
    { role: 'response', text: response },
  ]
}

type Episode = NonNullable<JournalledSample['episode']>

/** What the policy read and said, turn by turn, with its calls and their results. */
async function episodeTurns({ turns, results, end }: Episode, tokenizer: Tokenizer): Promise<Turn[]> {
  const shown: Turn[] = []
  for (const [place, { messages, completion, turn, segment }] of turns.entries()) {
    const rewritten = segment > 0 && turns[place - 1]?.segment !== segment
    if (rewritten) shown.push({ role: 'note', text: 'The chat template rewrote the conversation from here on.' })
    for (const { role, content } of messages)
      shown.push({ role, text: typeof content === 'string' ? content : JSON.stringify(content) })
    const reward = end.turnRewards?.[place] ?? null
    const calls = (end.calls?.[place] ?? []).map(({ name, id, status }) => {
      const result = results.find(one => one.turn === turn && one.id === id)
      return `called ${name}: ${status}${result ? `, ${result.seconds.toFixed(2)} s` : ''}`
    })
    const note = [`turn ${place + 1}`, ...calls, ...(reward === null ? [] : [`reward ${reward}`])].join(' · ')
    shown.push({ role: 'assistant', text: await tokenizer.decode(completion.responseIds), note })
  }
  const why = end.message === undefined ? '' : `: ${end.message}`
  shown.push({ role: 'note', text: `The episode ended (${end.stop ?? end.of})${why}` })
  return shown
}

/** A picture of the prompt; its size is in the head of its file. */
async function pictureOf(
  directory: string,
  kind: 'image' | 'video',
  hash: string,
): Promise<SampleDetail['media'][number]> {
  const file = await open(await picturePath(directory, hash)).catch(() => undefined)
  if (!file) return { kind, width: null, height: null }
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(24), 0, 24, 0)
    if (bytesRead < 24) return { kind, width: null, height: null }
    return { kind, width: buffer.readUInt32BE(16), height: buffer.readUInt32BE(20) }
  } finally {
    await file.close()
  }
}

/** Names of files come from the journal, and are no paths. */
async function picturePath(directory: string, hash: string): Promise<string> {
  if (!/^\w{1,128}$/.test(hash)) throw new RequestError(404, 'the journal names no picture of this sample')
  return join(runPaths(directory).media, `${hash}.png`)
}

/** The bytes of a picture of a sample. */
export async function askMedia(index: SampleIndex, { id, n }: { id: string; n: number }): Promise<Uint8Array> {
  const kept = (await recordOf(index, id)).media[n]
  if (!kept) throw new RequestError(404, 'the sample has no such picture')
  return await readFile(await picturePath(index.directory, kept.hash)).catch(() => {
    throw new RequestError(404, "the run's copy of the picture is gone")
  })
}
