import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { inspectModel, LocalModel } from '../../src/model/index.js'
import { temporaryDirectory } from '../support/files.js'
import { heldMemory } from '../support/held-memory.js'

const fixtures = fileURLToPath(new URL('../fixtures/models', import.meta.url))
const folder = temporaryDirectory()

const at = (name: string): string => join(fixtures, name)

test('a directory is inspected without reading its weights', async () => {
  const { liveTensors } = await heldMemory()
  const found = await inspectModel(at('qwen2'))
  const model = await LocalModel.load(at('qwen2'), {})
  expect(found.config.decoder).toEqual(model.config.decoder)
  expect(found.role).toBe('language')
  const weights = [...model.parts.weights.values()].map(({ shape }) => shape.reduce((a, b) => a * b, 1))
  expect(found.parameters).toBe(weights.reduce((a, b) => a + b, 0))
  model.dispose()
  expect((await heldMemory()).liveTensors).toBeLessThanOrEqual(liveTensors)
})

test('a critic made of a language model is fine, a head that is to come is not missed', async () => {
  expect((await inspectModel(at('qwen2'), { role: 'value' })).role).toBe('value')
})

test('what would keep it from being loaded is said', async () => {
  await expect(inspectModel(join(folder, 'none'))).rejects.toThrow(
    `${join(folder, 'none')} does not exist; expected a Hugging Face model directory`,
  )
  await expect(inspectModel(folder)).rejects.toThrow(`${folder} has no config.json; expected a Hugging Face model`)
  const broken = join(folder, 'broken')
  cpSync(at('qwen2'), broken, { recursive: true })
  const config = JSON.parse(readFileSync(join(broken, 'config.json'), 'utf8')) as { intermediate_size: number }
  config.intermediate_size += 16
  writeFileSync(join(broken, 'config.json'), JSON.stringify(config))
  await expect(inspectModel(broken)).rejects.toThrow(/the weights do not fit config.json\n {2}wrong shape: /)
})
