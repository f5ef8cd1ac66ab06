/**
 * Videos whose model reads seconds, with the frame rate of each. The route of token ids has no field for a rate. The route that prepares
 * messages has one, and its result goes to the route of token ids, beside the prompt with all its placeholders.
 */
import {
  asArray,
  asObject,
  type GenerationAttempt,
  type ServerConnection,
  type ServerFacts,
} from '../remote/dialect.js'
import { ProtocolError, RefusalError } from '../remote/errors.js'
import type { SentItem } from '../remote/sent-media.js'
import { refusal } from './answers.js'
import { contentPart } from './generation.js'

interface Prepared {
  readonly hash: string
  /** The pixels as the server wants them. */
  readonly data: string
  /** Tokens that the server makes of the item. */
  readonly count: number
}

const prepareMs = 120_000
const known = new WeakMap<SentItem, Map<string, Promise<Prepared>>>()

/** JSON of `features`; undefined where the items can go as they are. */
export function prepareMedia(
  server: ServerConnection,
  { media }: GenerationAttempt,
  facts: ServerFacts,
): Promise<string> | undefined {
  if (facts.videos !== 'prepared' || !media?.items.some(({ kind }) => kind === 'video')) return undefined
  return features(server, media, facts.model)
}

async function features(
  server: ServerConnection,
  { items, places }: NonNullable<GenerationAttempt['media']>,
  model: string,
): Promise<string> {
  const all = await Promise.all(items.map(item => preparedItem(server, item, model)))
  const wrong = all.findIndex(({ count }, i) => count !== places[i]!.count)
  if (wrong >= 0)
    throw new RefusalError({
      kind: 'refused',
      message: `the server makes ${all[wrong]!.count} tokens of ${items[wrong]!.kind} ${wrong + 1}, and here it has ${places[wrong]!.count}; both sides need the same processor files (preprocessor_config.json)`,
    })
  const kinds = [...new Set(items.map(({ kind }) => kind))]
  const byKind = (value: (place: number) => unknown): Record<string, unknown[]> =>
    Object.fromEntries(kinds.map(one => [one, items.flatMap(({ kind }, i) => (kind === one ? [value(i)] : []))]))
  return JSON.stringify({
    mm_hashes: byKind(i => all[i]!.hash),
    mm_placeholders: byKind(i => ({ offset: places[i]!.start, length: places[i]!.count })),
    kwargs_data: byKind(i => all[i]!.data),
  })
}

/** Once for each server: its samples share it. */
function preparedItem(server: ServerConnection, item: SentItem, model: string): Promise<Prepared> {
  const ofServers = known.get(item) ?? new Map<string, Promise<Prepared>>()
  known.set(item, ofServers)
  let made = ofServers.get(server.url)
  if (!made) {
    made = prepareItem(server, item, model)
    ofServers.set(server.url, made)
    made.catch(() => ofServers.delete(server.url))
  }
  return made
}

/** The answer of the route is a request of the route of token ids, with the item in it. */
export async function prepareItem(server: ServerConnection, item: SentItem, model: string): Promise<Prepared> {
  const { type, url } = contentPart(item)
  const rate = item.kind === 'video' ? { media_io_kwargs: { video: { fps: item.fps ?? 1, num_frames: -1 } } } : {}
  const { status, text } = await server.request('POST', '/v1/chat/completions/render', {
    body: { model, messages: [{ role: 'user', content: [{ type, [type]: { url } }] }], ...rate },
    timeoutMs: prepareMs,
  })
  if (status !== 200) throw new RefusalError(refusal(status, text, undefined), status)
  const fields = asObject(asObject(parsed(text), 'the prepared message').features, 'features')
  const only = (name: string): unknown => asArray(asObject(fields[name], name)[item.kind], name)[0]
  const [hash, data] = [only('mm_hashes'), only('kwargs_data')]
  const { length: count } = asObject(only('mm_placeholders'), 'mm_placeholders')
  if (typeof hash !== 'string' || typeof data !== 'string' || typeof count !== 'number')
    throw new ProtocolError(`the prepared ${item.kind} has no pixels`)
  return { hash, data, count }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ProtocolError('the prepared message is not JSON', { cause })
  }
}
