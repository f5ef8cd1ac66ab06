/** A GGUF file where a model is named: imported once, recorded by its checksum, and compared when a run goes on. */
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { modelCard } from '../../src/card/index.js'
import { exportGguf } from '../../src/gguf/index.js'
import { generate, sft } from '../../src/index.js'
import { Run } from '../../src/run/index.js'
import { cli } from '../support/cli.js'
import { fresh, jsonl, temporaryDirectory, written } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const cache = temporaryDirectory()
const file = join(temporaryDirectory(), 'small.gguf')
const data = jsonl(Array.from({ length: 6 }, (_, i) => ({ prompt: `Question ${i}:`, completion: ' aeiou' })))
const options = { chatTemplate: 'none', device: 'cpu', batchSize: 2, saveSteps: 1, model: file, data } as const
const sum = (): string => createHash('sha256').update(readFileSync(file)).digest('hex')
const imports = (): string[] => readdirSync(join(cache, 'gguf')).filter(name => name !== 'checksums')

beforeAll(async () => {
  vi.stubEnv('WHETSTONE_CACHE', cache)
  await exportGguf(await modelDirectory(1), { out: file, type: 'q8_0' })
})
afterAll(() => vi.unstubAllEnvs())

test('the file is imported once for all who name it, and again where the import is damaged', async () => {
  const config = written('sft.json', JSON.stringify({ ...options, output: fresh('first'), maxSteps: 1 }))
  const first = await cli(['sft', '--config', config])
  expect(first.stderr).toContain(`Importing ${file} into the cache.`)
  const [directory] = imports()
  const weights = join(cache, 'gguf', directory!, 'small/model.safetensors')
  const made = statSync(weights).mtimeMs
  const second = await cli(['sft', '--config', config, '--output', fresh('second')])
  expect({ code: second.code, stderr: second.stderr }).toMatchObject({ code: 0 })
  expect(second.stderr).not.toContain('Importing')
  for await (const sample of generate({ model: file, data: [{ prompt: 'a' }], maxNewTokens: 2, device: 'cpu' }))
    expect(sample.ids?.length).toBe(2)
  expect({ made: statSync(weights).mtimeMs, imports: imports() }).toEqual({ made, imports: [directory] })
  writeFileSync(weights, readFileSync(weights).subarray(0, 1000))
  expect((await cli(['sft', '--config', config, '--output', fresh('third')])).stderr).toContain('Importing')
  rmSync(weights)
  expect((await cli(['sft', '--config', config, '--output', fresh('fourth')])).code).toBe(0)
  expect(existsSync(weights)).toBe(true)
  const renamed = join(temporaryDirectory(), 'another.gguf')
  copyFileSync(file, renamed)
  expect((await cli(['sft', '--config', config, '--model', renamed, '--output', fresh('fifth')])).code).toBe(0)
  expect(imports()).toEqual([directory])
})

test('the card of a model and its adapter name the file', async () => {
  const output = fresh('named')
  await sft({ ...options, output, maxSteps: 1, lora: {}, keep: 'adapters' })
  expect(readFileSync(join(output, 'final_adapter/adapter_config.json'), 'utf8')).toContain('/small"')
  expect((await modelCard(output)).text).toContain('- Base model: small\n')
})

test('a run records the checksum, and refuses to go on with another file of the name', async () => {
  const output = fresh('run')
  const before = sum()
  await sft({ ...options, output, maxSteps: 1 })
  expect((await Run.read(output)).config.inputs!.model!['small.gguf']).toBe(before)
  expect((await sft({ ...options, output, maxSteps: 2, resume: true })).step).toBe(2)
  await exportGguf(await modelDirectory(2), { out: file, type: 'q8_0' })
  const resumed = sft({ ...options, output, resume: true })
  await expect(resumed).rejects.toThrow(`model small.gguf: was "${before}", is now "${sum()}"`)
  await resumed.catch(error => expect((error as { remedy: string }).remedy).toContain('--allow-change model'))
  expect((await sft({ ...options, output, resume: true, allowChange: ['model'] })).step).toBe(3)
  expect((await Run.read(output)).config.inputs!.model!['small.gguf']).toBe(sum())
})
