/**
 * Each thing that servers are told to do, refused in words or never answered, over both dialects: the step and the server's words
 * are told, nothing stays paused or asleep, and what follows is as if nothing had been.
 */
import { describe, expect, test } from 'vitest'
import type { Generator, WeightsProof, WeightsUpdate } from '../../../src/rollout/index.js'
import { writeToyAdapter, writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import { adapted, type ToyWeights, toyGreedy, toyLogprobs, toyWeights } from '../../support/doubles/toy-model.js'
import { completed } from '../../support/generation.js'
import { type EngineKind, greedy, kinds, outcomesOf, prompt, until, world } from '../../support/remote.js'

interface Step {
  /** As messages call it. */
  readonly name: RegExp
  readonly on: string
  readonly when?: (body: unknown) => boolean
}

const proofIds = Int32Array.from({ length: 24 }, (_, i) => 3 + ((i * 71) % 300))
const proofOf = (weights: ToyWeights): WeightsProof => ({ ids: proofIds, logprobs: toyLogprobs(proofIds, weights) })
const isProof = (body: unknown): boolean =>
  /"(?:prompt|token_ids|input_ids)":\[3,74,/.test(JSON.stringify(body)) &&
  /"(?:prompt_logprobs|logprob_start_len)":0/.test(JSON.stringify(body))

const updateTo = (version: number): WeightsUpdate => ({
  version,
  directory: writeToyCheckpoint(version),
  proof: proofOf(toyWeights(version)),
})
const adapterOf = (version: number): WeightsUpdate => ({
  version,
  adapter: writeToyAdapter(version),
  proof: proofOf(adapted(toyWeights(0), version)),
})

const isSglang = ({ name }: EngineKind): boolean => name === 'SGLang'

function directorySteps(kind: EngineKind): readonly Step[] {
  const proof = { name: /scoring the proof/, on: kind.path, when: isProof }
  if (isSglang(kind))
    return [
      { name: /pausing/, on: '/pause_generation' },
      { name: /loading the weights in /, on: '/update_weights_from_disk' },
      { name: /asking what it is/, on: '/model_info' },
      proof,
    ]
  return [
    { name: /pausing/, on: '/pause' },
    { name: /loading the weights in /, on: '/collective_rpc' },
    { name: /clearing the prefix cache/, on: '/reset_prefix_cache' },
    { name: /naming the weights 7-/, on: '/update_weight_version' },
    ...(kind.path.startsWith('/inference') ? [{ name: /asking for the weights/, on: '/weight_info' }] : []),
    proof,
  ]
}

const adapterStep = (kind: EngineKind): Step => ({
  name: /loading the adapter in /,
  on: isSglang(kind) ? '/load_lora_adapter' : '/v1/load_lora_adapter',
})

const words = 'the disk has a scratch'
const refusal = { kind: 'status', status: 500, body: { error: { message: words } } } as const

async function expectFrom(generator: Generator, weights: ToyWeights): Promise<void> {
  const [outcome] = await outcomesOf(generator, [greedy(`said-${Math.random()}`)])
  expect([...completed(outcome).responseIds]).toEqual(toyGreedy(prompt, 12, weights))
}

/** As a regular expression, of which addresses have nothing but dots. */
const plain = (url: string): string => url.replaceAll('.', '\\.')

describe.concurrent.each(kinds)('$name: a step of an update', kind => {
  test.each(directorySteps(kind))('refused: $name', async ({ on, name, when }) => {
    const { generator, server } = await world(kind)
    await generator.updateWeights(updateTo(2))
    server.fault(refusal, { on, ...(when ? { when } : {}) })
    const update = generator.updateWeights(updateTo(7))
    await expect(update).rejects.toThrow(new RegExp(`^${plain(server.url)}: ${name.source}.*answered 500: ${words}`))
    expect(server.engine.paused).toBe(false)
    await generator.updateWeights(updateTo(8))
    await expectFrom(generator, toyWeights(8))
  })

  test.each(directorySteps(kind))('not answered: $name', async ({ on, when }) => {
    const { generator, server } = await world(kind, { controlTimeoutMs: 1500, patienceMs: 60_000 })
    server.fault({ kind: 'hang' }, { on, ...(when ? { when } : {}) })
    // Given up at its deadline, and looked at again: an update costs time, and is proved all the same.
    await generator.updateWeights(updateTo(7))
    expect(server.engine.paused).toBe(false)
    expect(server.received.some(({ body }) => isProof(body))).toBe(true)
    await expectFrom(generator, toyWeights(7))
  })

  test('an adapter: refused, not there, not answered', async () => {
    const { generator, server } = await world(kind, { controlTimeoutMs: 1500, patienceMs: 60_000 })
    const { on, name } = adapterStep(kind)
    server.fault(refusal, { on })
    await expect(generator.updateWeights(adapterOf(1))).rejects.toThrow(new RegExp(`${name.source}.*500: ${words}`))
    const nowhere = generator.updateWeights({ version: 1, adapter: '/no/such/adapter' })
    await expect(nowhere).rejects.toThrow(/loading the adapter in \/no\/such\/adapter: .*\/no\/such\/adapter/)
    expect(server.engine.paused).toBe(false)
    server.fault({ kind: 'hang' }, { on })
    await generator.updateWeights(adapterOf(3))
    expect(server.engine.paused).toBe(false)
    await expectFrom(generator, adapted(toyWeights(0), 3))
  })

  test('resuming: one that refuses gets no work until it does not', async () => {
    const { generator, server, events } = await world(kind)
    server.fault(refusal, { on: isSglang(kind) ? '/continue_generation' : '/resume' })
    await generator.updateWeights(updateTo(7))
    await expectFrom(generator, toyWeights(7))
    expect(server.engine.paused).toBe(false)
    expect(events.find(({ kind: what }) => what === 'drained')?.message).toContain(words)
  })
})

describe.concurrent.each(kinds)('$name: sleep', kind => {
  const sleeping = isSglang(kind) ? '/release_memory_occupation' : '/sleep'
  const waking = isSglang(kind) ? '/resume_memory_occupation' : '/wake_up'

  test('refused: the server’s words, and it goes on awake', async () => {
    const { generator, server } = await world(kind)
    server.fault(refusal, { on: sleeping })
    await expect(generator.sleep()).rejects.toThrow(new RegExp(`${plain(server.url)}: .*500: ${words}`))
    expect([server.engine.paused, server.engine.asleep]).toEqual([false, false])
    await expectFrom(generator, toyWeights(0))
  })

  test('a wake that is refused, or lost: no work before it is awake', async () => {
    const { generator, server } = await world(kind, { controlTimeoutMs: 1500 })
    await generator.updateWeights(updateTo(7))
    for (const fault of [refusal, { kind: 'reset' }, { kind: 'hang' }] as const) {
      await generator.sleep()
      expect(server.engine.asleep).toBe(true)
      server.fault(fault, { on: waking })
      if (fault === refusal) await expect(generator.wake()).rejects.toThrow(words)
      else await generator.wake()
      await expectFrom(generator, toyWeights(7))
      expect(server.engine.asleep).toBe(false)
    }
  })

  test('closed while it sleeps: awake for those who use it next', async () => {
    const { generator, server } = await world(kind)
    await generator.sleep()
    await generator.close()
    expect(server.engine.asleep).toBe(false)
  })

  test('one that was started anew while it should sleep is not woken, and given its weights', async () => {
    const { generator, server } = await world(kind)
    await generator.updateWeights(updateTo(7))
    await generator.sleep()
    await server.stop()
    await generator.wake()
    await server.restart()
    server.received.length = 0
    await expectFrom(generator, toyWeights(7))
    if (isSglang(kind)) expect(server.count(waking)).toBe(0)
  })
})

test('a server that never sleeps is not woken: SGLang would end', async () => {
  const { generator, servers } = await world(kinds[2]!, { servers: 2 })
  servers[0]!.fault(refusal, { on: '/release_memory_occupation' })
  await expect(generator.sleep()).rejects.toThrow(words)
  await until(() => servers.every(({ engine }) => !engine.asleep && !engine.paused))
  expect(servers[0]!.count('/resume_memory_occupation')).toBe(0)
  for (const _ of servers) await expectFrom(generator, toyWeights(0))
})
