/** Weights that a real server is given while it runs. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  EngineError,
  type GenerationRequest,
  type Generator,
  type Outcome,
  type Sample,
} from '../../src/rollout/index.js'
import { whileUnderWay } from '../support/generation.js'
import {
  type AdapterModel,
  collect,
  largestDifference,
  patiently,
  prompt,
  request,
  sampleOne,
  samples,
  type TinyModel,
} from '../support/real-servers.js'
import { type RealSuite, tolerance } from './real-suite.js'

export function describeWeights(suite: RealSuite): void {
  describe('weights', () => {
    const answers = async (generator: Generator, model: TinyModel): Promise<void> => {
      for (const seed of [11, 12]) {
        const sample = await sampleOne(generator, prompt(seed, 140), { temperature: 0, maxNewTokens: 50 })
        expect([...sample.responseIds]).toEqual(await model.greedy(sample.promptIds, 50))
        expect(sample.policyVersion).toBe(generator.policyVersion)
        await suite.check(model, sample, 0)
      }
    }

    test('of a directory: greedy tokens are those of the new model, whatever was in the cache', async () => {
      const generator = await suite.open(suite.a, { modelDirectory: suite.a.directory })
      await answers(generator, suite.a)
      await suite.give(generator, suite.b)
      expect(generator.policyVersion).toBe(suite.version)
      await answers(generator, suite.b)
      await suite.give(generator, suite.a)
      await answers(generator, suite.a)
      expect(suite.events.filter(({ kind }) => kind === 'proved')).not.toHaveLength(0)
    })

    /** Answers when some tokens have come, or all of them. */
    const underWay = async (
      generator: Generator,
      asked: GenerationRequest,
    ): Promise<{ readonly collecting: Promise<Outcome[]> }> => {
      let collecting: Promise<Outcome[]> = Promise.resolve([])
      await new Promise<void>((resolve, reject) => {
        let seen = 0
        const onToken = (): void => {
          if (++seen > 20) resolve()
        }
        collecting = collect(generator.generate([asked], { onToken }))
        collecting.then(() => resolve(), reject)
      })
      return { collecting }
    }

    test('a request that runs meanwhile goes on with the new ones, from a border that its versions name', async () => {
      const generator = await suite.open(suite.a)
      const { before, found } = await whileUnderWay(async () => {
        if (suite.loaded !== suite.a) await suite.give(generator, suite.a)
        const before = generator.policyVersion
        const asked = request('over', { n: 8, sampling: { maxNewTokens: 220 } })
        const { collecting } = await underWay(generator, asked)
        await generator.pause()
        await suite.give(generator, suite.b)
        generator.resume()
        const found = (await collecting) as Sample[]
        return found.some(({ versions }) => versions.length > 1) ? { before, found } : undefined
      })
      for (const sample of found) {
        const [first, second = { ...first!, start: first!.end }, ...others] = sample.versions
        expect(others).toEqual([])
        expect([first!.start, first!.end, second.end]).toEqual([0, second.start, 220])
        const ids = [...sample.promptIds, ...sample.responseIds]
        const from = sample.promptIds.length - 1
        const values = sample.logprobs.processed ?? sample.logprobs.raw!
        for (const { version: made, start, end } of sample.versions) {
          expect([before, suite.version]).toContain(made)
          const scored = (await (made === before ? suite.a : suite.b).score(ids)).subarray(from)
          expect(largestDifference(values.subarray(start, end), scored.subarray(start, end))).toBeLessThan(tolerance)
        }
      }
    })

    test('a client that comes later does not mistake the server’s names for its own', async () => {
      await whileUnderWay(async () => {
        const first = await suite.open(suite.a)
        await suite.give(first, suite.b)
        const taken = suite.version
        await first.close()
        const generator = await suite.connected({ version: 0 })
        const proof = await suite.a.proof()
        const asked = request('again', { n: 16, sampling: { maxNewTokens: 220 } })
        const { collecting } = await underWay(generator, asked)
        await generator.updateWeights({ version: taken, directory: suite.a.directory, proof })
        suite.loaded = suite.a
        const all = ((await collecting) as Sample[]).map(({ versions }) => versions.map(span => span.version))
        await generator.close()
        for (const versions of all) expect([[0], [taken], [0, taken]]).toContainEqual(versions)
        return all.some(versions => versions.length > 1) ? 'tested' : undefined
      })
    })

    test('of an adapter: the merged model’s; another; and without', async () => {
      const generator = await suite.open(suite.a)
      expect(generator.capabilities.weights).toContain('adapter')
      for (const one of suite.adapted) {
        const { adapter } = one
        await generator.updateWeights({ version: ++suite.version, adapter, proof: await one.proof() })
        await answers(generator, one)
        await expect
          .poll(() => suite.real.adapters(suite.engine.url), patiently)
          .toEqual([expect.stringMatching(`^policy@${suite.version}-`)])
      }
      await suite.give(generator, suite.a)
      await answers(generator, suite.a)
      await expect.poll(() => suite.real.adapters(suite.engine.url), patiently).toEqual([])
    })

    test('that cannot be loaded: the server’s words, and the next good ones are taken', async () => {
      const generator = await suite.open(suite.a)
      const samplesBefore = samples(generator, [request('long', { n: 4, sampling: { maxNewTokens: 200 } })])
      const nowhere = join(suite.world.folder, 'nowhere')
      const failed = generator.updateWeights({ version: ++suite.version, directory: nowhere })
      await expect(failed).rejects.toThrow(EngineError)
      await expect(failed).rejects.toThrow(/loading the weights.*nowhere/)
      mkdirSync(nowhere, { recursive: true })
      await expect(generator.updateWeights({ version: ++suite.version, directory: nowhere })).rejects.toThrow(
        EngineError,
      )
      await suite.give(generator, suite.b)
      await answers(generator, suite.b)
      expect((await samplesBefore).map(({ responseIds }) => responseIds.length)).toEqual([200, 200, 200, 200])
    })

    test('of another shape are refused before the server sees them', async () => {
      const generator = await suite.open(suite.a, { modelDirectory: suite.a.directory })
      const tied = await suite.world.model(`tied-${suite.version}`, { seed: 9, tied: true })
      const update = generator.updateWeights({ version: suite.version + 1, directory: tied.directory })
      await expect(update).rejects.toThrow(/lm_head/)
      await answers(generator, suite.a)
    })

    test('a proof of other weights is not believed', async () => {
      const generator = await suite.open(suite.a)
      const update = generator.updateWeights({
        version: ++suite.version,
        directory: suite.b.directory,
        proof: await suite.a.proof(),
      })
      await expect(update).rejects.toThrow(/gives other log-probabilities/)
      await suite.give(generator, suite.b)
      await answers(generator, suite.b)
    })

    test('an adapter over other base weights than the server has is not believed', async () => {
      const generator = await suite.open(suite.b)
      const [{ adapter, proof }] = suite.adapted as [AdapterModel]
      const update = generator.updateWeights({ version: ++suite.version, adapter, proof: await proof() })
      await expect(update).rejects.toThrow(/gives other log-probabilities/)
      await expect(update).rejects.toMatchObject({
        remedy: expect.stringContaining('the directory that `model` names'),
      })
      await suite.give(generator, suite.b)
      await answers(generator, suite.b)
    })

    test('asleep nothing is generated; awake it goes on, with weights that came meanwhile', async () => {
      const generator = await suite.open(suite.a)
      expect(generator.capabilities.sleep).toBe(suite.real.sleeps)
      const collecting = samples(generator, [request('nap', { n: 2, sampling: { maxNewTokens: 150 } })])
      await generator.sleep()
      await suite.give(generator, suite.b)
      await expect.poll(() => suite.real.running(suite.engine.url), patiently).toBe(0)
      await generator.wake()
      for (const { responseIds } of await collecting) expect(responseIds).toHaveLength(150)
      await answers(generator, suite.b)
    })
  })
}
