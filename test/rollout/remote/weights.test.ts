/** New weights for servers: each sample says which made it, a server that has others than it should is found out. */
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { EngineEvent, Generator, Outcome, WeightsProof } from '../../../src/rollout/index.js'
import type { EngineServer } from '../../support/doubles/engine-server.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { writeToyAdapter, writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import { adapted, toyGreedy, toyLogprobs, toyWeights } from '../../support/doubles/toy-model.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { completed } from '../../support/generation.js'
import { connected, type EngineKind, greedy, kinds, outcomesOf, prompt, until, world } from '../../support/remote.js'

const proofIds = Int32Array.from({ length: 24 }, (_, i) => 3 + ((i * 71) % 300))
const proofOf = (version: number): WeightsProof => ({
  ids: proofIds,
  logprobs: toyLogprobs(proofIds, toyWeights(version)),
})
const said = async (generator: Generator, id = 'said'): Promise<number[]> => [
  ...completed((await outcomesOf(generator, [greedy(id)]))[0]).responseIds,
]
const told = (events: readonly EngineEvent[]): string[] =>
  events.map(({ kind }) => kind).filter(kind => kind !== 'connected')
const expected = (version: number, count = 12): number[] => toyGreedy(prompt, count, toyWeights(version))

/** A long request under way: some tokens are here, and the server waits for `outcome` with the others. */
async function underWay(
  generator: Generator,
  { engine }: EngineServer,
  tokens = 200,
): Promise<{ outcome: () => Promise<Outcome | undefined> }> {
  engine.msPerToken = 1
  engine.holdAt = 40
  let seen = 0
  const asked = greedy('long', { maxNewTokens: tokens })
  const outcomes = outcomesOf(generator, [asked], { onToken: () => seen++ })
  await until(() => seen > 0)
  const outcome = async (): Promise<Outcome | undefined> => {
    engine.holdAt = Number.POSITIVE_INFINITY
    return (await outcomes)[0]
  }
  return { outcome }
}

describe.concurrent.each(kinds)('$name: weights', kind => {
  test('a directory: requests under way go on with it, and say where it began', async () => {
    const { generator, server, events } = await world(kind)
    const { outcome } = await underWay(generator, server)
    await generator.updateWeights({ version: 7, directory: writeToyCheckpoint(7), proof: proofOf(7) })
    expect(generator.policyVersion).toBe(7)
    const { versions, responseIds } = completed(await outcome())
    expect(versions.map(({ version }) => version)).toEqual([0, 7])
    const border = versions[0]!.end
    const before = [...responseIds.subarray(0, border)]
    expect(before).toEqual(expected(0, border))
    const rest = toyGreedy([...prompt, ...before], responseIds.length - border, toyWeights(7))
    expect([...responseIds.subarray(border)]).toEqual(rest)
    expect(await said(generator)).toEqual(expected(7))
    expect(told(events)).toEqual(['updated', 'proved'])
  })

  test('again and again; each sample has the version it was made by', async () => {
    const { generator } = await world(kind)
    for (const version of [3, 4, 9]) {
      await generator.updateWeights({ version, directory: writeToyCheckpoint(version), proof: proofOf(version) })
      const sample = completed((await outcomesOf(generator, [greedy('a')]))[0])
      expect([...sample.responseIds]).toEqual(expected(version))
      expect(sample.policyVersion).toBe(version)
    }
  })

  test('a directory that is not there: the server’s words, nothing paused, and the next update helps', async () => {
    const { generator, server } = await world(kind)
    const { outcome } = await underWay(generator, server)
    const update = generator.updateWeights({ version: 5, directory: '/no/such/checkpoint' })
    await expect(update).rejects.toThrow(new RegExp(`${server.url}: .*/no/such/checkpoint`))
    expect(server.engine.paused).toBe(false)
    expect(generator.policyVersion).toBe(0)
    await generator.updateWeights({ version: 6, directory: writeToyCheckpoint(6), proof: proofOf(6) })
    expect(completed(await outcome()).responseIds).toHaveLength(200)
    expect(await said(generator)).toEqual(expected(6))
  })

  test('weights that are not what was written are found out by the proof', async () => {
    const { generator, server } = await world(kind)
    const directory = writeToyCheckpoint(7, { lacks: 'head' })
    const update = generator.updateWeights({ version: 7, directory, proof: proofOf(7) })
    await expect(update).rejects.toThrow(/weights of version 7 were loaded, but the server gives other log-prob/)
    // The hint about tied embeddings is for the one server that has the fault.
    const hint = expect.stringMatching(kind.name === 'SGLang' ? /^(?!.*tie_word_embeddings)/ : /tie_word_embeddings/)
    await expect(update).rejects.toMatchObject({ remedy: hint })
    // It gets no work with them.
    const before = server.count(kind.path)
    const waiting = outcomesOf(generator, [greedy('a')])
    await delay(300)
    expect(server.count(kind.path)).toBe(before)
    await generator.updateWeights({ version: 8, directory: writeToyCheckpoint(8), proof: proofOf(8) })
    expect([...completed((await waiting)[0]).responseIds]).toEqual(expected(8))
  })

  test('between pause and resume: proved when it goes on', async () => {
    const { generator, server, events } = await world(kind)
    const { outcome } = await underWay(generator, server)
    await generator.pause()
    await generator.updateWeights({ version: 2, directory: writeToyCheckpoint(2), proof: proofOf(2) })
    expect(told(events)).toEqual(['updated'])
    generator.resume()
    expect(completed(await outcome()).versions.map(({ version }) => version)).toEqual([0, 2])
    expect(told(events)).toEqual(['updated', 'proved'])
  })

  test('asleep: remembered, and given before anything is generated', async () => {
    const { generator, server } = await world(kind)
    const { outcome } = await underWay(generator, server, 100)
    await generator.sleep()
    await generator.updateWeights({ version: 4, directory: writeToyCheckpoint(4), proof: proofOf(4) })
    expect(server.count(kind.updatePath)).toBe(0)
    await generator.wake()
    const sample = completed(await outcome())
    expect(sample.versions.at(-1)).toMatchObject({ version: 4, end: 100 })
    expect(await said(generator)).toEqual(expected(4))
  })

  test('started anew with the weights of its first day, it gets the current ones before it gets work', async () => {
    const { generator, server, events } = await world(kind)
    await generator.updateWeights({ version: 7, directory: writeToyCheckpoint(7), proof: proofOf(7) })
    const { outcome } = await underWay(generator, server)
    await server.restart()
    const sample = completed(await outcome())
    expect(sample.versions).toEqual([{ version: 7, start: 0, end: 200 }])
    expect([...sample.responseIds]).toEqual(expected(7, 200))
    expect(told(events)).toContain('updated')
  })

  test('started anew while nobody looked: noticed before the next work', async () => {
    const { generator, server } = await world(kind)
    await generator.updateWeights({ version: 7, directory: writeToyCheckpoint(7), proof: proofOf(7) })
    expect(await said(generator)).toEqual(expected(7))
    await server.restart()
    await delay(1100)
    expect(await said(generator)).toEqual(expected(7))
  })

  test('an update that one of two servers misses, it gets when it is back', async () => {
    const { generator, servers } = await world(kind, { servers: 2 })
    await servers[1]!.stop()
    await generator.updateWeights({ version: 7, directory: writeToyCheckpoint(7), proof: proofOf(7) })
    expect(await said(generator)).toEqual(expected(7))
    await servers[1]!.restart()
    await until(() => isDeepStrictEqual(servers[1]!.engine.weights, toyWeights(7)))
  })

  test('a step that takes too long ends at its deadline', async () => {
    const { generator, server } = await world(kind, { controlTimeoutMs: 2000, patienceMs: 1000 })
    server.fault({ kind: 'hang' }, { on: kind.updatePath, times: 1000 })
    const update = generator.updateWeights({ version: 7, directory: writeToyCheckpoint(7) })
    await expect(update).rejects.toThrow(/no server took the weights of version 7.*no answer within 2 s/)
  })

  test('with no server in reach the update waits for one that is back', async () => {
    const { generator, server } = await world(kind)
    await server.stop()
    const update = generator.updateWeights({ version: 7, directory: writeToyCheckpoint(7), proof: proofOf(7) })
    await delay(300)
    await server.restart()
    await update
    expect(await said(generator)).toEqual(expected(7))
  })

  test('a version without weights: a name where nothing was changed, an error after', async () => {
    const { generator } = await world(kind)
    await generator.updateWeights({ version: 3 })
    expect(completed((await outcomesOf(generator, [greedy('a')]))[0]).policyVersion).toBe(3)
    await generator.updateWeights({ version: 4, directory: writeToyCheckpoint(4) })
    await generator.updateWeights({ version: 4 })
    await expect(generator.updateWeights({ version: 5 })).rejects.toThrow(/version 5: a server needs a directory/)
  })
})

describe.concurrent.each([kinds[0]!, kinds[2]!])('$name: adapters', kind => {
  const without = (): EngineServer =>
    kind.name === 'SGLang' ? new SglangServer({ flags: ['disable-lora'] }) : new VllmServer({ without: ['lora'] })

  test('by versioned names; requests under way go on with the new one, the old one is unloaded', async () => {
    const { generator, server } = await world(kind)
    const weights = (version: number) => adapted(toyWeights(0), version)
    await generator.updateWeights({ version: 1, adapter: writeToyAdapter(1) })
    expect(await said(generator)).toEqual(toyGreedy(prompt, 12, weights(1)))
    const { outcome } = await underWay(generator, server)
    await generator.updateWeights({ version: 2, adapter: writeToyAdapter(2) })
    const { versions, responseIds } = completed(await outcome())
    expect(versions.map(({ version }) => version)).toEqual([1, 2])
    const before = [...responseIds.subarray(0, versions[0]!.end)]
    const rest = toyGreedy([...prompt, ...before], 200 - before.length, weights(2))
    expect([...responseIds]).toEqual([...before, ...rest])
    expect([...server.engine.adapters.keys()]).toEqual([expect.stringMatching(/^policy@2-/)])
  })

  test('a server that was started anew is given the adapter again', async () => {
    const { generator, server } = await world(kind)
    await generator.updateWeights({ version: 1, adapter: writeToyAdapter(1) })
    await server.restart()
    await delay(1100)
    expect(await said(generator)).toEqual(toyGreedy(prompt, 12, adapted(toyWeights(0), 1)))
  })

  test('a server that was away, and has it still, is given it again', async () => {
    const { generator, server, events } = await world(kind)
    await generator.updateWeights({ version: 1, adapter: writeToyAdapter(1) })
    await server.stop()
    const waiting = said(generator)
    await until(() => events.some(({ kind: what }) => what === 'drained'))
    await server.start()
    expect(await waiting).toEqual(toyGreedy(prompt, 12, adapted(toyWeights(0), 1)))
  })

  test('without them on the server: the directory, or an error', async () => {
    const server = await without().start()
    const generator = await connected(kind, { urls: [server.url] })
    await generator.updateWeights({ version: 1, adapter: writeToyAdapter(1), directory: writeToyCheckpoint(1) })
    expect(await said(generator)).toEqual(expected(1))
    const alone = generator.updateWeights({ version: 2, adapter: writeToyAdapter(2) })
    await expect(alone).rejects.toThrow(/started without adapters/)
    await expect(alone).rejects.toMatchObject({ remedy: expect.stringContaining('--enable-lora') })
    await generator.close()
    await server.stop()
  })
})

test('a server without control routes: nothing but a name, and why', async () => {
  const server = await new VllmServer({ without: ['dev-mode'] }).start()
  const generator = await connected(kinds[0]!, { urls: [server.url] })
  expect(generator.capabilities.weights).toEqual([])
  const update = generator.updateWeights({ version: 1, directory: writeToyCheckpoint(1) })
  await expect(update).rejects.toThrow(/weights cannot be changed: .*VLLM_SERVER_DEV_MODE=1/)
  await generator.updateWeights({ version: 1 })
  expect(generator.policyVersion).toBe(1)
  await generator.close()
  await server.stop()
})

/** Older ones: nothing they answer says which weights they have. */
const nameless: readonly EngineKind[] = [
  { ...kinds[1]!, serve: () => new VllmServer({ version: '0.26.0', without: ['scale-out', 'weight-names'] }) },
  { ...kinds[2]!, serve: () => new SglangServer({ flags: ['no-weight-names'] }) },
]

describe.concurrent.each(nameless)('$name, without names of weights or a proof', kind => {
  test('started anew while nobody looked: noticed before the next work', async () => {
    const { generator, server } = await world(kind)
    await generator.updateWeights({ version: 7, directory: writeToyCheckpoint(7) })
    expect(await said(generator)).toEqual(expected(7))
    await server.restart()
    await delay(1100)
    expect(await said(generator)).toEqual(expected(7))
    expect(server.count(kind.updatePath)).toBe(2)
  })

  test('the same as before: not given its weights again, idle or with a broken connection', async () => {
    const { generator, server } = await world(kind)
    await generator.updateWeights({ version: 7, directory: writeToyCheckpoint(7) })
    await delay(1100)
    expect(await said(generator)).toEqual(expected(7))
    server.fault({ kind: 'reset' })
    expect(await said(generator)).toEqual(expected(7))
    expect(server.count(kind.updatePath)).toBe(1)
  })
})
