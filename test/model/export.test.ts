/** What `export` writes, and that it is there whole whatever happens on the way. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type ExportOptions, LocalModel } from '../../src/model/index.js'
import { expectClose } from '../support/close.js'
import { fixture, sequences, temporary } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([6, 11, 4])
const adapter = { rank: 4, alpha: 8, dropout: 0, targets: ['q_proj', 'v_proj', 'down_proj'] as const, seed: 3 }

async function train(model: LocalModel<'language'>): Promise<void> {
  await model.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -1) })))
  await model.step({ lr: 1e-2 })
}
const logprobs = async (model: LocalModel<'language'>, options: { adapter?: 'off' } = {}): Promise<Float32Array[]> =>
  (await model.score(given, options)).map(scored => scored.logprobs)

describe('a model with an adapter', () => {
  test('is written merged, from a copy; the adapter alone; the base alone', async () => {
    const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 1, adapter })
    for (let i = 0; i < 2; i++) await train(model)
    const [trained, reference] = [await logprobs(model), await logprobs(model, { adapter: 'off' })]
    const checksum = await model.checksum()
    const { version, weightsRevision } = model
    expect(model.capabilities.exports).toEqual(['model', 'adapter', 'base'])

    const whole = await model.export(temporary('whole'), { what: 'model', maxShardBytes: 4000 })
    const base = await model.export(temporary('base'), { what: 'base' })
    const alone = await model.export(temporary('alone'), { what: 'adapter' })
    // Nothing of the live model has changed.
    expect(await model.checksum()).toBe(checksum)
    expect([model.version, model.weightsRevision]).toEqual([version, weightsRevision])
    expect(await logprobs(model)).toEqual(trained)

    const parameters = [...model.parts.weights.values()].reduce((sum, { numel }) => sum + numel, 0)
    const sizes = { parameters, bytes: 4 * parameters }
    expect(whole).toEqual({ directory: temporary('whole'), what: 'model', merged: true, ...sizes })
    expect(base).toEqual({ directory: temporary('base'), what: 'base', merged: false, ...sizes })
    expect(alone).toMatchObject({ what: 'adapter', merged: false })
    expect(alone.parameters).toBeLessThan(parameters)
    expect(readdirSync(temporary('alone')).sort()).toEqual(['adapter_config.json', 'adapter_model.safetensors'])

    const merged = await LocalModel.load(temporary('whole'), { role: 'language' })
    for (const [i, row] of (await logprobs(merged)).entries()) expectClose(row, trained[i]!, 1e-5)
    const plain = await LocalModel.load(temporary('base'), { role: 'language', adapter: temporary('alone') })
    expect(await logprobs(plain, { adapter: 'off' })).toEqual(reference)
    expect(await logprobs(plain)).toEqual(trained)

    // Merged for good, it is the same model, and no other can be written.
    await model.mergeAdapter()
    expect(await model.checksum()).toBe(await merged.checksum())
    expect(model.capabilities).toMatchObject({ exports: ['model'], adapterOff: false, train: false })
    await expect(model.export(temporary('late'), { what: 'adapter' })).rejects.toThrow("cannot write what: 'adapter'")
    await expect(model.export(temporary('late'), { what: 'base' })).rejects.toThrow("cannot write what: 'base'")
    expect(await model.export(temporary('late'), { what: 'model' })).toMatchObject({ merged: true })
    for (const each of [model, merged, plain]) each.dispose()
  })
})

test('what cannot be written is said, and where', async () => {
  const model = await LocalModel.load(fixture('qwen2'), { role: 'language' })
  const wrong = (options: unknown) => model.export(temporary('wrong'), options as ExportOptions)
  for (const what of [undefined, 'weights', null])
    await expect(wrong({ what })).rejects.toThrow("export needs what: 'model', 'adapter' or 'base'")
  for (const what of ['adapter', 'base'])
    await expect(wrong({ what })).rejects.toThrow(`this model has no adapter: cannot write what: '${what}'`)
  await expect(model.export('', { what: 'model' })).rejects.toThrow('expected the name of a directory')
  // A directory that is somebody's stays; so does a model under an adapter's name.
  const home = temporary('home')
  mkdirSync(home)
  writeFileSync(join(home, 'thesis.md'), 'mine')
  await expect(model.export(home, { what: 'model' })).rejects.toThrow('contains thesis.md, and writing would delete it')
  const lora = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 1, adapter })
  await model.export(temporary('model'), { what: 'model' })
  await expect(lora.export(temporary('model'), { what: 'adapter' })).rejects.toThrow('and writing would delete it')
  for (const each of [model, lora]) each.dispose()
})
