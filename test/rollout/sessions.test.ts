import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { LocalModel } from '../../src/model/index.js'
import { LocalEngine, type LocalEngineOptions, type Sample } from '../../src/rollout/index.js'
import { BlockPool } from '../../src/rollout/local/blocks.js'
import { collect, loadModel, numbers, randomIds } from '../support/generation.js'
import { readVisionCase } from '../support/vision-models.js'

let model: LocalModel<'language'>
beforeAll(async () => {
  model = await loadModel()
})
afterAll(() => model.dispose())

const engines: LocalEngine[] = []
function open(options: LocalEngineOptions = {}, of = model): LocalEngine {
  const engine = new LocalEngine(of, { eosIds: [2], ...options })
  engines.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

interface Talk {
  readonly engine: LocalEngine
  readonly name: string
  /** 'none': the same requests without a session. */
  readonly session?: 'kept' | 'none'
  readonly turns?: number
  readonly between?: (turn: number, ids: Int32Array) => Promise<Int32Array> | Int32Array
}

/** A conversation: each prompt is the one before, its response, and a few tokens more. */
async function converse({ engine, name, session = 'kept', turns = 4, between }: Talk): Promise<Sample[]> {
  const next = numbers(name.length * 31 + name.charCodeAt(name.length - 1))
  let promptIds = randomIds(next, 40 + next(30))
  const samples: Sample[] = []
  for (let turn = 0; turn < turns; turn++) {
    const request = {
      id: `${name} ${turn} ${session}`,
      promptId: `${name} ${turn}`,
      promptIds,
      sampling: { seed: 3, maxNewTokens: 3 + next(20), temperature: 1 },
      ...(session === 'kept' ? { session: name } : {}),
    }
    const [sample] = [...(await collect(engine, [request])).values()]
    samples.push(sample!)
    promptIds = Int32Array.of(...promptIds, ...sample!.responseIds, ...randomIds(next, 1 + next(12)))
    if (between) promptIds = await between(turn, promptIds)
  }
  engine.release(name)
  return samples
}

const content = (samples: readonly Sample[]) =>
  samples.map(({ responseIds, logprobs, finishReason }) => ({
    ids: [...responseIds],
    raw: [...logprobs.raw!],
    finishReason,
  }))

test('turns of a session have the same bits as without one, and compute only what is new', async () => {
  const [kept, fresh] = [open(), open()]
  const samples = await converse({ engine: kept, name: 'a' })
  expect(content(samples)).toEqual(content(await converse({ engine: fresh, name: 'a', session: 'none' })))
  const all = samples.map(({ promptIds }) => promptIds.length)
  expect(fresh.counts.promptTokens).toBe(all.reduce((sum, length) => sum + length, 0))
  // Of each later prompt: what was added, and the last token of the response, which was sampled and not computed.
  const added = samples.slice(1).map(({ promptIds }, i) => {
    const before = samples[i]!
    return promptIds.length - before.promptIds.length - before.responseIds.length + 1
  })
  expect(kept.counts.promptTokens).toBe(all[0]! + added.reduce((sum, count) => sum + count, 0))
  expect(kept.counts.usedBlocks).toBe(0)
})

test('many sessions at once in a cache that cannot hold them', async () => {
  const names = Array.from({ length: 8 }, (_, i) => `talk ${i}`)
  const engine = open({ cacheBytes: 40 * 2 * 2 * 2 * 16 * 16 * 4, maxSequences: 3 })
  const together = await Promise.all(names.map(name => converse({ engine, name })))
  const alone = open()
  for (const [i, name] of names.entries())
    expect(content(together[i]!), name).toEqual(content(await converse({ engine: alone, name, session: 'none' })))
  expect(engine.counts.usedBlocks).toBe(0)
  // About nine blocks a conversation at its end.
  expect(engine.counts.blocks).toBeLessThan(45)
})

test('a history that was changed is computed again from where it differs', async () => {
  const change = (turn: number, ids: Int32Array): Int32Array => (turn === 1 ? ids.with(50, (ids[50]! + 1) % 300) : ids)
  const [kept, fresh] = [open(), open()]
  const samples = await converse({ engine: kept, name: 'edited', between: change })
  const expected = await converse({ engine: fresh, name: 'edited', session: 'none', between: change })
  expect(content(samples)).toEqual(content(expected))
})

test.each(['the session asks first', 'another one asks first'])(
  'new weights keep nothing of the old ones: %s',
  async first => {
    const trained = await loadModel()
    const step = async (turn: number, ids: Int32Array): Promise<Int32Array> => {
      if (turn !== 1) return ids
      const lengths = (outputs: readonly { logprobs: Float32Array }[]) =>
        outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1) }))
      await trained.forwardBackward([Int32Array.from(ids)], lengths)
      await trained.step({ lr: 1e-2 })
      // The engine sees the new weights while the session is only kept.
      const other = { id: 'other', promptIds: ids.subarray(0, 9), sampling: { seed: 1, maxNewTokens: 2 } }
      if (first === 'another one asks first') await collect(engine, [other])
      return ids
    }
    const engine = open({}, trained)
    const samples = await converse({ engine, name: 'trained', between: step })
    const fresh = open({}, trained)
    const again = [
      ...(
        await collect(fresh, [
          {
            id: 'again',
            promptId: 'trained 3',
            promptIds: samples[3]!.promptIds,
            sampling: { seed: 3, maxNewTokens: samples[3]!.responseIds.length, temperature: 1 },
          },
        ])
      ).values(),
    ]
    // The ids may be those of keys and values of old weights; the numbers are not.
    const { ids, raw } = content(samples)[3]!
    expect(content(again)[0]).toMatchObject({ ids, raw })
    await engine.close()
    await fresh.close()
    trained.dispose()
  },
)

test('after sleep, and after release, a session begins anew with the same bits', async () => {
  const [engine, fresh] = [open(), open()]
  const samples = await converse({
    engine,
    name: 'slept',
    between: async (turn, ids) => {
      if (turn === 0) {
        await engine.sleep()
        await engine.wake()
      }
      if (turn === 1) engine.release('slept')
      return ids
    },
  })
  expect(content(samples)).toEqual(content(await converse({ engine: fresh, name: 'slept', session: 'none' })))
})

test('a session has one sample at a time', async () => {
  const request = {
    id: 'two',
    promptIds: Int32Array.of(3, 4),
    n: 2,
    session: 's',
    sampling: { seed: 1, maxNewTokens: 1 },
  }
  await expect(collect(open(), [request])).rejects.toThrow('a request of a session has one sample, got n 2')
})

test('the same text with another image is not the same conversation', async () => {
  const { directory, sequences, golden } = await readVisionCase('qwen2_5_vl')
  const { LocalModel } = await import('../../src/model/index.js')
  const vision = await LocalModel.load(directory, { role: 'language' })
  const ask = async (engine: LocalEngine, row: number, swapped: boolean, session?: string) => {
    const { ids, media } = sequences[row]!
    const seen = swapped
      ? media.map(item => ({
          ...item,
          pixels: {
            ...item.pixels,
            hash: `${item.pixels.hash} dark`,
            frames: item.pixels.frames.map(value => value >> 1),
          },
        }))
      : media
    const request = {
      id: `${row} ${swapped}`,
      promptIds: ids.slice(0, golden.rows[row]!.prompt_length),
      media: seen,
      sampling: { seed: 1, maxNewTokens: 6, temperature: 0 },
      ...(session === undefined ? {} : { session }),
    }
    return content([...(await collect(engine, [request])).values()])
  }
  const [engine, fresh] = [open({ eosIds: [] }, vision), open({ eosIds: [] }, vision)]
  await ask(engine, 1, false, 'seen')
  const before = engine.counts.promptTokens
  expect(await ask(engine, 1, true, 'seen')).toEqual(await ask(fresh, 1, true))
  expect(engine.counts.promptTokens - before).toBe(golden.rows[1]!.prompt_length)
  expect(await ask(engine, 1, true, 'seen')).toEqual(await ask(fresh, 1, true))
  expect(engine.counts.promptTokens - before).toBeLessThan(golden.rows[1]!.prompt_length + 2)
  await engine.close()
  await fresh.close()
  vision.dispose()
})

test('blocks of sessions are taken when no other is free, the oldest first', () => {
  const pool = new BlockPool(4)
  const keep = (session: string): void => {
    const of = { blocks: [pool.take()], computed: 10 }
    pool.keep(session, of, { ids: new Int32Array(10), media: [] })
    expect(of.blocks).toEqual([])
  }
  for (const session of ['old', 'new', 'newest']) keep(session)
  expect(pool.available).toBe(4)
  pool.take()
  pool.take()
  expect([pool.claim('old'), pool.available]).toEqual([undefined, 2])
  expect(pool.claim('new')?.ids).toHaveLength(10)
  pool.take()
  expect(pool.available).toBe(0)
  expect(() => pool.take()).toThrow('no block is free')
})
