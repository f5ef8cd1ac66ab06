import { expect, test } from 'vitest'
import { type Outcome, sequencesAtOnce } from '../../src/rollout/index.js'
import { generatorSchema, openGenerator, silentReport } from '../../src/train/index.js'
import { atEnd } from '../support/at-end.js'
import { makeModel } from '../support/experience.js'
import { tokenizer } from '../support/tokenizers.js'

/** SmolLM2-135M: 23,040 bytes of keys and values for a token. */
const shape = { layers: 30, kvHeads: 3, headDim: 64 }
const gigabytes = (count: number): number => count * 1e9

test.each<[string, Partial<Parameters<typeof sequencesAtOnce>[1]>, number]>([
  ['the whole rollout', { samples: 700 }, 700],
  ['no more than a step takes', { samples: 5000 }, 1024],
  ['as many as usual for a small rollout: evaluations may be larger', { samples: 8 }, 256],
  ['what the cache has room for', { samples: 1024, cacheBytes: gigabytes(6) }, 508],
  ['as many as usual where it has less', { samples: 1024, cacheBytes: gigabytes(1) }, 256],
  ['fewer where responses are longer', { samples: 1024, tokensPerSample: 2048 }, 593],
])('sequences at once: %s', (_, given, expected) => {
  const options = { samples: 1024, tokensPerSample: 512, cacheBytes: gigabytes(28), dtype: 'bfloat16' as const }
  expect(sequencesAtOnce(shape, { ...options, ...given })).toBe(expected)
})

test('maxInFlight bounds the local engine, and changes no sample', async () => {
  const actor = await makeModel('language')
  const samples = async (given: object): Promise<{ most: number; found: Outcome[] }> => {
    const { generator, close } = await openGenerator({
      config: generatorSchema.parse(given),
      actor,
      rollout: { samples: 6, maxNewTokens: 8 },
      model: 'model',
      tokenizer,
      report: silentReport,
      signal: new AbortController().signal,
      onEvent: () => {},
    })
    atEnd(close)
    let most = 0
    const onToken = (): void => {
      most = Math.max(most, generator.counts.running)
    }
    const request = { id: 'a', promptIds: Int32Array.of(5, 6, 7), n: 6, sampling: { seed: 3, maxNewTokens: 8 } }
    const found: Outcome[] = []
    for await (const outcome of generator.generate([request], { onToken })) found.push(outcome)
    found.sort((a, b) => a.sample - b.sample)
    return { most, found }
  }
  const [usual, bounded] = [await samples({}), await samples({ maxInFlight: 2 })]
  expect(usual.most).toBe(6)
  expect(bounded.most).toBe(2)
  const ids = ({ found }: { found: Outcome[] }) => found.map(one => (one.kind === 'completed' ? one.responseIds : one))
  expect(ids(bounded)).toEqual(ids(usual))
})
