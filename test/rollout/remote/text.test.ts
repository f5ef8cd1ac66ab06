/** Text and stop strings of responses that come in parts: as of one that came whole. */
import { beforeAll, expect, test } from 'vitest'
import { Tokenizer } from '../../../src/text/index.js'
import { completed } from '../../support/generation.js'
import { greedy, kinds, outcomesOf, world } from '../../support/remote.js'

let tokenizer: Tokenizer
beforeAll(async () => {
  tokenizer = await Tokenizer.load(new URL('../../fixtures/tokenizer/', import.meta.url).pathname)
})

test.each(['whole', 'streamed'] as const)('%s: the text is that of the ids', async transport => {
  const { generator } = await world(kinds[0]!, { tokenizer })
  const shown: string[] = []
  const options = transport === 'whole' ? {} : { onToken: (event: { text: string }) => shown.push(event.text) }
  const [outcome] = await outcomesOf(generator, [greedy('a', { text: 'with-special' })], options)
  const { responseIds, text } = completed(outcome)
  expect(text).toBe(await tokenizer.decode(responseIds, { skipSpecialTokens: false }))
  if (transport === 'streamed') expect(shown.join('')).toBe(text)
})

test.each(['whole', 'streamed'] as const)(
  '%s: a stop string across two requests ends the response',
  async transport => {
    const { generator, server } = await world(kinds[0]!, { tokenizer })
    const [whole] = await outcomesOf(generator, [greedy('a', { text: 'with-special' })])
    const { responseIds } = completed(whole)
    const texts = await Promise.all([...responseIds].map(id => tokenizer.decode([id], { skipSpecialTokens: false })))
    // The end of the fourth token and the beginning of the fifth: the server breaks off between them.
    const stop = texts[3]!.slice(-1) + texts[4]!.slice(0, 2)
    const before = texts.slice(0, 4).join('').slice(0, -1)
    if (before.includes(stop)) throw new Error('another model for this test')
    server.fault({ kind: 'abort', tokens: 4 })
    const seen: number[] = []
    const options = transport === 'whole' ? {} : { onToken: (event: { id: number }) => seen.push(event.id) }
    const [outcome] = await outcomesOf(generator, [greedy('b', { text: 'with-special', stop: [stop] })], options)
    const sample = completed(outcome)
    expect(sample).toMatchObject({ finishReason: 'stop', stopReason: stop, text: before })
    expect([...sample.responseIds]).toEqual([...responseIds.subarray(0, 5)])
    expect(sample.versions).toEqual([{ version: 0, start: 0, end: 5 }])
    if (transport === 'streamed') expect(seen).toEqual([...sample.responseIds])
  },
)

test.each(kinds)('$name: any number of stop strings, of which a server may take four', async kind => {
  const { generator, server } = await world(kind, { tokenizer })
  const [whole] = await outcomesOf(generator, [greedy('a', { text: 'with-special' })])
  const { responseIds } = completed(whole)
  const third = await tokenizer.decode([responseIds[2]!], { skipSpecialTokens: false })
  const stop = ['never 1', 'never 2', 'never 3', 'never 4', 'never 5', third]
  const [outcome] = await outcomesOf(generator, [greedy('b', { text: 'with-special', stop })])
  expect(completed(outcome)).toMatchObject({ finishReason: 'stop', stopReason: third })
  expect(completed(outcome).responseIds.length).toBeLessThanOrEqual(3)
  const { body } = server.received.filter(({ path }) => path === kind.path).at(-1)!
  const { stop: sent } = ((body as Record<string, unknown>).sampling_params ?? body) as { stop?: string[] }
  if (kind.name !== 'SGLang') expect(sent).toHaveLength(4)
})

test('text without a tokenizer is refused', async () => {
  const { generator } = await world(kinds[0]!)
  await expect(outcomesOf(generator, [greedy('a', { stop: ['x'] })])).rejects.toThrow(/need an engine with a tokenizer/)
})

test('prompt log-probabilities come with streams too', async () => {
  const { generator } = await world(kinds[0]!)
  const seen: number[] = []
  const onToken = ({ id }: { id: number }): void => void seen.push(id)
  const asked = greedy('a', { promptLogprobs: 2 })
  const [streamed] = await outcomesOf(generator, [asked], { onToken })
  const [whole] = await outcomesOf(generator, [asked])
  expect(completed(streamed).promptLogprobs).toEqual(completed(whole).promptLogprobs)
  expect(completed(streamed).promptLogprobs?.logprobs).toHaveLength(4)
  expect(seen).toEqual([...completed(whole).responseIds])
})
