import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ModelError, parseConfig } from '../../src/model/index.js'
import { fixture } from '../support/models.js'

const names = ['llama31rope', 'mistral', 'olmo2', 'qwen2-reward', 'qwen3', 'smollm3']
const configs = names.map(
  name => JSON.parse(readFileSync(`${fixture(name)}/config.json`, 'utf8')) as Record<string, unknown>,
)

const odd = fc.oneof(
  fc.constantFrom(null, true, false, 0, -1, 0.5, 1e308, -1e308, 2 ** 53, 99_999_999_999, '', '64', 'silu', [], {}, [
    [],
  ]),
  fc.constantFrom(undefined, [null], { rope_type: 'llama3' }, { full_attention: {} }, ['full_attention']),
  fc.jsonValue({ maxDepth: 3 }),
)

/** A config with some of its fields replaced, and some that are not in it. */
const mutated = fc
  .constantFrom(...configs)
  .chain(config =>
    fc.record({
      config: fc.constant(config),
      changes: fc.dictionary(
        fc.oneof(
          fc.constantFrom(...Object.keys(config)),
          fc.constantFrom(
            'rope_scaling',
            'rope_theta',
            'head_dim',
            'no_rope_layers',
            'quantization_config',
            'id2label',
          ),
          fc.constantFrom('partial_rotary_factor', 'mlp_bias', 'layer_types', 'use_sliding_window', '__proto__'),
        ),
        odd,
        { minKeys: 1, maxKeys: 3 },
      ),
    }),
  )
  .map(({ config, changes }) => ({ ...config, ...changes }))

test('a config with any field replaced by anything is read, or refused by an error of ours that names the file', () => {
  fc.assert(
    fc.property(mutated, raw => {
      try {
        const { decoder } = parseConfig(raw, 'config.json')
        const { hidden, heads, kvHeads, headDim, layers, normEps, ropeTheta } = decoder
        for (const size of [hidden, heads, kvHeads, headDim, layers]) expect(Number.isSafeInteger(size)).toBe(true)
        for (const value of [normEps, ropeTheta]) expect(Number.isFinite(value)).toBe(true)
        expect(heads % kvHeads).toBe(0)
      } catch (error) {
        expect(error).toBeInstanceOf(ModelError)
        expect((error as Error).message).toMatch(/^config\.json: /)
        expect((error as Error).message.length).toBeLessThan(2000)
      }
    }),
    { numRuns: 1000 },
  )
})
