/** Our own server as a training elsewhere sees it: through the client for vLLM, which does not know the difference. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import {
  connectVllm,
  type GenerationRequest,
  type Generator,
  type Sample,
  type WeightsProof,
} from '../../src/rollout/index.js'
import type { ServeOptions } from '../../src/serve/index.js'
import { generatorContract } from '../rollout/generator-contract.js'
import { completed } from '../support/generation.js'
import {
  apiKey,
  type ControlFiles,
  type Controlled,
  controlFiles,
  controlled,
  length,
  prompt,
} from '../support/serve-control.js'

let files: ControlFiles
const open: { close(): Promise<void> }[] = []
beforeAll(async () => {
  files = await controlFiles()
})
afterAll(async () => {
  for (const one of open.reverse()) await one.close()
})

async function connected(serve: Partial<ServeOptions> = {}): Promise<{ it: Controlled; engine: Generator }> {
  const it = await controlled(files, { serve })
  open.push(it)
  const { vocabSize } = it.opened.engine
  const engine = await connectVllm({
    urls: [`http://127.0.0.1:${it.server.port}`],
    vocabSize,
    apiKey,
    modelDirectory: files.model.path,
    proofTolerance: 1e-4,
  })
  open.push(engine)
  return { it, engine }
}

let shared: Controlled | undefined
generatorContract('connectVllm to our own server with control', async () => {
  if (!shared) {
    shared = await controlled(files)
    open.push(shared)
  }
  const { vocabSize } = shared.opened.engine
  return connectVllm({ urls: [`http://127.0.0.1:${shared.server.port}`], vocabSize, apiKey })
})

const greedy = (id: string, most = length): GenerationRequest => ({
  id,
  promptIds: Int32Array.from(prompt),
  sampling: { seed: 1, temperature: 0, maxNewTokens: most, ignoreEos: true },
})
async function one(engine: Generator, request = greedy('a')): Promise<Sample> {
  return completed((await engine.generate([request]).next()).value)
}

/** What the weights in a directory give a fixed text. */
async function proofOf(model: string, adapter?: string): Promise<WeightsProof> {
  const loaded = await LocalModel.load(model, { role: 'language', ...(adapter === undefined ? {} : { adapter }) })
  const ids = Int32Array.from([...prompt, 40, 41, 42, 43])
  const [score] = await loaded.score([ids])
  loaded.dispose()
  return { ids, logprobs: score!.logprobs }
}

describe('updates by directory', () => {
  test('are proved, named, and give exactly the new checkpoint’s tokens', async () => {
    const { engine, it } = await connected()
    expect(engine.capabilities).toMatchObject({ logprobs: ['raw'], weights: ['directory', 'adapter'], sleep: true })
    expect([...(await one(engine)).responseIds]).toEqual(files.model.ids)
    await engine.updateWeights({ version: 7, directory: files.other.path, proof: await proofOf(files.other.path) })
    const { responseIds, versions } = await one(engine)
    expect([...responseIds]).toEqual(files.other.ids)
    expect(versions).toEqual([{ version: 7, start: 0, end: length }])
    expect(JSON.parse((await it.ask('/weight_info')).text).weight_version).toMatch(/^7/)
    expect(engine.policyVersion).toBe(7)
  })

  test('a request in flight goes on with them, and says where they began', async () => {
    const { engine, it } = await connected()
    const duringUpdate = async (version: number): Promise<Sample> => {
      let begin: () => void = () => {}
      const begun = new Promise<void>(resolve => {
        begin = resolve
      })
      const stream = engine.generate([greedy('a', 200)], { onToken: () => begin() })
      await begun
      await engine.updateWeights({ version, directory: files.other.path })
      return completed((await stream.next()).value)
    }
    let version = 3
    let sample = await duringUpdate(version)
    // On a busy machine it may have ended before the update came.
    while (sample.versions.length === 1 && version < 50) sample = await duringUpdate(++version)
    const { responseIds, versions, logprobs } = sample
    const border = versions[0]!.end
    expect(versions).toEqual([
      { version: version === 3 ? 0 : version - 1, start: 0, end: border },
      { version, start: border, end: 200 },
    ])
    const whole = Int32Array.from([...prompt, ...responseIds])
    const [score] = await it.opened.model.score([whole], { from: prompt.length })
    for (let t = border; t < 200; t++) expect(logprobs.raw![t]).toBeCloseTo(score!.logprobs[t]!, 4)
  })

  test('weights other than those meant are found out by the proof', async () => {
    const { engine } = await connected()
    const update = { version: 1, directory: files.other.path, proof: await proofOf(files.model.path) }
    await expect(engine.updateWeights(update)).rejects.toThrow('gives other log-probabilities')
    await engine.updateWeights({ version: 2, directory: files.model.path, proof: await proofOf(files.model.path) })
    expect([...(await one(engine)).responseIds]).toEqual(files.model.ids)
  })

  test('a directory outside the root is refused in the server’s words', async () => {
    const { engine } = await connected()
    const update = { version: 1, directory: `${files.outside}/other` }
    await expect(engine.updateWeights(update)).rejects.toThrow('--weights-root')
    await engine.updateWeights({ version: 1, directory: files.other.path })
    expect([...(await one(engine)).responseIds]).toEqual(files.other.ids)
  })
})

test('updates by adapter: proved, and the older one is unloaded', async () => {
  const { engine, it } = await connected()
  const [first, second] = files.adapters
  for (const [version, { path, ids }] of [
    [1, first],
    [2, second],
  ] as const) {
    await engine.updateWeights({ version, adapter: path, proof: await proofOf(files.model.path, path) })
    const { responseIds, versions } = await one(engine)
    expect([...responseIds]).toEqual(ids)
    expect(versions).toEqual([{ version, start: 0, end: length }])
  }
  const { data } = JSON.parse((await it.ask('/v1/models')).text) as { data: { id: string; parent: string | null }[] }
  expect(data.map(({ id, parent }) => [id, parent])).toEqual([
    ['tiny', null],
    [expect.stringMatching(/^policy@2-/), 'tiny'],
  ])
})

test('an adapter that comes while requests are in flight: each sample is of one, or names its border', async () => {
  const { engine } = await connected()
  const [first, second] = files.adapters
  await engine.updateWeights({ version: 1, adapter: first.path })
  const stream = engine.generate(Array.from({ length: 6 }, (_, i) => greedy(`r${i}`, 120)))
  await delay(30)
  await engine.updateWeights({ version: 2, adapter: second.path, proof: await proofOf(files.model.path, second.path) })
  const samples: Sample[] = []
  for await (const outcome of stream) samples.push(completed(outcome))
  expect(samples).toHaveLength(6)
  for (const { responseIds, versions } of samples) {
    expect(responseIds).toHaveLength(120)
    expect(versions.at(-1)!.end).toBe(120)
    for (const { version } of versions) expect([1, 2]).toContain(version)
    if (versions.length === 1) {
      const { ids } = versions[0]!.version === 1 ? first : second
      expect([...responseIds.subarray(0, length)]).toEqual(ids)
    }
  }
  expect([...(await one(engine)).responseIds]).toEqual(second.ids)
})

test('asleep and awake; weights that come meanwhile are there afterwards', async () => {
  const { engine, it } = await connected()
  await engine.sleep()
  expect(JSON.parse((await it.ask('/is_sleeping')).text)).toEqual({ is_sleeping: true })
  await engine.updateWeights({ version: 4, directory: files.other.path })
  await engine.wake()
  const { responseIds, versions } = await one(engine)
  expect([...responseIds]).toEqual(files.other.ids)
  expect(versions).toEqual([{ version: 4, start: 0, end: length }])
})

test('processed log-probabilities are known as such', async () => {
  const { engine } = await connected({ logprobsMode: 'processed_logprobs' })
  expect(engine.capabilities.logprobs).toEqual(['processed'])
  const sampling = { seed: 1, temperature: 0.7, maxNewTokens: 5, ignoreEos: true }
  const sample = await one(engine, { ...greedy('a'), sampling })
  expect(Object.keys(sample.logprobs)).toEqual(['processed'])
})

test('a server started anew, with the weights of its first day, gets those it should have', async () => {
  const { it } = await connected()
  const { port } = it.server
  const { vocabSize } = it.opened.engine
  const engine = await connectVllm({ urls: [`http://127.0.0.1:${port}`], vocabSize, apiKey, version: 0 })
  open.push(engine)
  await engine.updateWeights({ version: 5, directory: files.other.path })
  await it.close()
  open.splice(open.indexOf(it), 1)
  const asked = one(engine)
  await delay(50)
  open.push(await controlled(files, { serve: { port } }))
  const { responseIds, versions } = await asked
  expect([...responseIds]).toEqual(files.other.ids)
  expect(versions).toEqual([{ version: 5, start: 0, end: length }])
})
