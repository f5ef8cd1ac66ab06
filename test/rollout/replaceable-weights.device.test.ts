/** Weights replaced where they lie: what was captured over them, programs and graphs, goes on with the new ones. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalModel } from '../../src/model/index.js'
import { LocalEngine, ReplaceableWeights } from '../../src/rollout/index.js'
import { device, onCuda } from '../support/device.js'
import { deviceModel } from '../support/device-model.js'
import { temporaryDirectory } from '../support/files.js'
import { collect, numbers, randomIds } from '../support/generation.js'

const dtype = onCuda ? 'bfloat16' : 'float32'
const requests = Array.from({ length: 5 }, (_, i) => ({
  id: `${i}`,
  promptIds: randomIds(numbers(i), 7 + 9 * i),
  sampling: { seed: 1, temperature: 0, maxNewTokens: 40, ignoreEos: true },
}))

async function answers(engine: LocalEngine): Promise<number[][]> {
  const found = await collect(engine, requests)
  return requests.map(({ id }) => [...found.get(`${id}/0`)!.responseIds])
}

async function answersOf(model: LocalModel<'language'>): Promise<number[][]> {
  const engine = new LocalEngine(model)
  const found = await answers(engine)
  await engine.close()
  return found
}

const folder = temporaryDirectory()

test('by a directory, by adapters, and after sleep: the same tokens as of a model loaded with them', async () => {
  const other = await deviceModel({ dtype, seed: 8 })
  await other.export(join(folder, 'other'), { what: 'model' })
  const ofOther = await answersOf(other)
  other.dispose()
  const trained = await deviceModel({
    dtype,
    adapter: { rank: 8, alpha: 64, dropout: 0, targets: ['q_proj', 'o_proj', 'up_proj', 'down_proj'], seed: 5 },
  })
  await trained.forwardBackward([randomIds(numbers(9), 30)], outputs =>
    outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1) })),
  )
  await trained.step({ lr: 0.1 })
  await trained.export(join(folder, 'adapter'), { what: 'adapter' })
  const ofAdapter = await answersOf(trained)
  trained.dispose()

  const model = await deviceModel({ dtype })
  const plain = await answersOf(model)
  const engine = new LocalEngine(model, { adapters: 'exchangeable' })
  const weights = new ReplaceableWeights(model, engine)
  expect(await answers(engine)).toEqual(plain)
  const adapter = await weights.readAdapter(join(folder, 'adapter'))
  await weights.useAdapter(adapter)
  expect(ofAdapter).not.toEqual(plain)
  expect(await answers(engine)).toEqual(ofAdapter)
  await engine.sleep()
  await weights.offload()
  await weights.restore()
  await engine.wake()
  expect(await answers(engine)).toEqual(ofAdapter)
  await weights.useAdapter(undefined)
  expect(await answers(engine)).toEqual(plain)
  await weights.reload(join(folder, 'other'))
  expect(await answers(engine)).toEqual(ofOther)
  await engine.close()
  adapter.dispose()
  expect(model.device).toBe(device)
  model.dispose()
})
