/** Where weights for servers are written, and what is removed there. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { TokenModel } from '../../../src/model/index.js'
import type { Generator, WeightsUpdate } from '../../../src/rollout/index.js'
import { removeWritten, weightSync, weightsDirectoryOf } from '../../../src/train/rl/weight-sync.js'
import { fresh } from '../../support/files.js'

/** A policy whose version is set by hand, and an engine that writes down what it is given. */
function world(directory: string) {
  const policy = { version: 0 }
  const given: WeightsUpdate[] = []
  const actor = {
    get version() {
      return policy.version
    },
    capabilities: { exports: ['model'] },
    export: async (path: string) => {
      await mkdir(path, { recursive: true })
    },
    score: async () => [{ logprobs: Float32Array.of(-1) }],
  } as unknown as TokenModel<'language'>
  const generator = {
    capabilities: { weights: ['directory'] },
    updateWeights: async (update: WeightsUpdate) => {
      given.push(update)
    },
  } as unknown as Generator
  const sync = weightSync({
    actor,
    generator,
    turns: { use: (_, work) => work() },
    directory,
    weights: 'auto',
    dtype: 'float32',
    proof: { ids: Int32Array.of(1, 2) },
    signal: new AbortController().signal,
  })
  return { policy, given, sync }
}

test('one version is kept; whatever else lies there is not ours to remove', async () => {
  const directory = fresh('weights')
  await mkdir(join(directory, 'model-3'), { recursive: true })
  await mkdir(join(directory, '.model-4.1-2-3.tmp'))
  await mkdir(join(directory, 'models'))
  await writeFile(join(directory, 'model.safetensors'), 'years of work')
  const { policy, given, sync } = world(directory)
  for (policy.version of [5, 5, 6]) await sync()
  expect(given.map(({ version }) => version)).toEqual([5, 6])
  expect((await readdir(directory)).sort()).toEqual(['model-6', 'model.safetensors', 'models'])
})

test('at the end of a run nothing of it stays; what else lies there does', async () => {
  const directory = fresh('weights')
  const { sync } = world(directory)
  await sync()
  await removeWritten(directory)
  await expect(readdir(directory)).rejects.toMatchObject({ code: 'ENOENT' })
  await removeWritten(directory)
  await mkdir(join(directory, 'models'), { recursive: true })
  await mkdir(join(directory, 'adapter-3'))
  await removeWritten(directory)
  expect(await readdir(directory)).toEqual(['models'])
})

test('runs of the same name that share a directory for weights do not share a place in it', () => {
  const generator = { weightsDirectory: '/shared' }
  const places = ['/one/grpo', '/two/grpo'].map(output => weightsDirectoryOf({ output, generator }))
  expect(new Set(places).size).toBe(2)
  for (const place of places) expect(place).toMatch(/^\/shared\/grpo-[0-9a-f]{8}$/)
  expect(weightsDirectoryOf({ output: '/one/grpo', generator: {} })).toBe('/one/grpo/weights')
})
