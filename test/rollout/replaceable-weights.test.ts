import { rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { type GenerationRequest, LocalEngine, type OpenedEngine, openEngine } from '../../src/rollout/index.js'
import { temporaryDirectory } from '../support/files.js'
import { collect, completed, loadModel, numbers, randomIds } from '../support/generation.js'
import { fixture } from '../support/models.js'

const promptIds = randomIds(numbers(2), 15)
const sampling = { seed: 1, temperature: 0, maxNewTokens: 40, ignoreEos: true }
const request = (id: string): GenerationRequest => ({ id, promptIds, sampling })

let folder: string
/** Trained away from the fixture, and what it answers. */
let other: { at: string; ids: number[] }
/** Two adapters over the fixture, and what the fixture answers with each. */
let adapters: { at: string; ids: number[] }[]
let plain: number[]

async function train(model: LocalModel<'language'>, seed: number): Promise<void> {
  await model.forwardBackward([randomIds(numbers(seed), 30)], outputs =>
    outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1) })),
  )
  await model.step({ lr: 0.05 })
}

async function answerOf(engine: LocalEngine, id = 'a'): Promise<number[]> {
  return [...(await collect(engine, [request(id)])).get(`${id}/0`)!.responseIds]
}

beforeAll(async () => {
  folder = temporaryDirectory()
  const model = await loadModel()
  const engine = new LocalEngine(model)
  plain = await answerOf(engine)
  await train(model, 9)
  const at = join(folder, 'other')
  await model.export(at, { what: 'model' })
  other = { at, ids: await answerOf(engine) }
  await engine.close()
  model.dispose()
  adapters = []
  for (const seed of [3, 4]) {
    const options = { rank: 4, alpha: 8, dropout: 0, targets: ['q_proj', 'down_proj'] as const, seed }
    const adapted = await LocalModel.load(fixture('qwen2'), { role: 'language', adapter: options })
    await train(adapted, seed)
    const sampler = new LocalEngine(adapted)
    adapters.push({ at: join(folder, `adapter-${seed}`), ids: await answerOf(sampler) })
    await adapted.export(adapters.at(-1)!.at, { what: 'adapter' })
    await sampler.close()
    adapted.dispose()
  }
})

async function opened(work: (one: OpenedEngine) => Promise<void>, adapters: 'none' | 'exchangeable' = 'none') {
  const one = await openEngine(fixture('qwen2'), { adapters })
  try {
    await work(one)
  } finally {
    await one.close()
  }
}

test('a directory’s weights take the place of those that are there, and give its own answers', async () => {
  expect(other.ids).not.toEqual(plain)
  await opened(async ({ engine, weights, model }) => {
    expect(await answerOf(engine)).toEqual(plain)
    await weights.reload(other.at)
    expect(await answerOf(engine)).toEqual(other.ids)
    const fresh = await LocalModel.load(other.at, { role: 'language' })
    expect(await model.checksum()).toBe(await fresh.checksum())
    fresh.dispose()
    await weights.reload(fixture('qwen2'))
    expect(await answerOf(engine)).toEqual(plain)
  })
})

test('a request in flight goes on with the new weights, from a border on that its versions name', async () => {
  await opened(async ({ engine, weights, model }) => {
    let seen = 0
    const onToken = (): void => {
      if (++seen !== 10) return
      void engine.pause().then(async () => {
        await weights.reload(other.at)
        await engine.updateWeights({ version: 1 })
        engine.resume()
      })
    }
    const { versions, responseIds, logprobs } = completed(
      (await engine.generate([request('a')], { onToken }).next()).value,
    )
    const border = versions[0]!.end
    expect(versions).toEqual([
      { version: 0, start: 0, end: border },
      { version: 1, start: border, end: 40 },
    ])
    expect([...responseIds.subarray(0, border)]).toEqual(plain.slice(0, border))
    const whole = Int32Array.from([...promptIds, ...responseIds])
    const [score] = await model.score([whole], { from: promptIds.length })
    for (let t = border; t < 40; t++) expect(logprobs.raw![t]).toBeCloseTo(score!.logprobs[t]!, 4)
  })
})

test('what does not fit is refused, by name, and the old weights go on', async () => {
  await opened(async ({ engine, weights, model }) => {
    const before = await model.checksum()
    await expect(weights.reload(fixture('llama'))).rejects.toThrow(/is not the same model as the loaded one: /)
    await expect(weights.reload(join(folder, 'nowhere'))).rejects.toThrow('does not exist')
    const cut = join(folder, 'cut')
    const source = await loadModel()
    await source.export(cut, { what: 'model' })
    source.dispose()
    truncateSync(join(cut, 'model.safetensors'), 2000)
    await expect(weights.reload(cut)).rejects.toThrow('model.safetensors')
    expect(weights.broken).toBeUndefined()
    expect(await model.checksum()).toBe(before)
    expect(await answerOf(engine)).toEqual(plain)
  })
})

test('without a config the tensors alone decide', async () => {
  await opened(async ({ engine, weights }) => {
    const bare = join(folder, 'bare')
    const source = await LocalModel.load(other.at, { role: 'language' })
    await source.export(bare, { what: 'model' })
    source.dispose()
    rmSync(join(bare, 'config.json'))
    await weights.reload(bare)
    expect(await answerOf(engine)).toEqual(other.ids)
  })
})

test('a read that breaks off leaves nothing to compute with, until a whole one', async () => {
  await opened(async ({ engine, weights, model }) => {
    const stop = new AbortController()
    const reading = model.loadWeights(other.at, {
      signal: stop.signal,
      onProgress: () => stop.abort(new Error('gone')),
    })
    await expect(reading).rejects.toThrow('gone')
    expect(weights.broken).toMatch(/are now a mix/)
    const { value: failed } = await engine.generate([request('a')]).next()
    expect(failed).toMatchObject({
      kind: 'failed',
      reason: 'engine',
      message: expect.stringContaining('are now a mix'),
    })
    await weights.reload(other.at)
    expect(await answerOf(engine)).toEqual(other.ids)
  })
})

test('adapters come and go over the same weights, which stay as they are', async () => {
  await opened(async ({ engine, weights, model }) => {
    const before = await model.checksum()
    const loaded = await Promise.all(adapters.map(({ at }) => weights.readAdapter(at)))
    expect(await answerOf(engine)).toEqual(plain)
    for (const i of [0, 1, 0]) {
      await weights.useAdapter(loaded[i])
      expect(await answerOf(engine)).toEqual(adapters[i]!.ids)
    }
    await engine.sleep()
    await weights.offload()
    await weights.restore()
    await engine.wake()
    expect(await answerOf(engine)).toEqual(adapters[0]!.ids)
    await weights.useAdapter(undefined)
    expect(await answerOf(engine)).toEqual(plain)
    await weights.reload(other.at)
    expect(await answerOf(engine)).toEqual(other.ids)
    await weights.reload(fixture('qwen2'))
    expect(await model.checksum()).toBe(before)
    for (const adapter of loaded) adapter.dispose()
  }, 'exchangeable')
})

test('an engine without room for adapters says so', async () => {
  await opened(async ({ weights }) => {
    expect(weights.takesAdapters).toBe(false)
    await expect(weights.useAdapter(undefined)).rejects.toThrow('without adapters: exchangeable')
  })
  const adapted = await LocalModel.load(fixture('qwen2'), { role: 'language', adapter: adapters[0]!.at })
  expect(() => new LocalEngine(adapted, { adapters: 'exchangeable' })).toThrow('already has an adapter')
  await expect(adapted.loadWeights(other.at)).rejects.toThrow('these weights have an adapter in training')
  adapted.dispose()
})
