/** Losses and estimators of a user are held to the checks of ours. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  checkEstimator,
  checkLoss,
  defineEstimator,
  defineLoss,
  type EstimatorDefinition,
  estimators,
  type LossDefinition,
  losses,
  type PolicyTokens,
} from '../../src/maths/index.js'
import { algorithms } from '../../src/train/index.js'

describe('ours keep to what is asked of others', () => {
  const ours = Object.values(losses).filter(one => 'defines' in one) as LossDefinition[]
  test.each(ours.map(one => [one.name, one] as const))('%s', (name, definition) => {
    expect(() => checkLoss(definition, name === 'cdpo' ? { labelSmoothing: 0.1 } : {})).not.toThrow()
  })
  test.each(Object.entries(estimators))('%s', (name, definition: EstimatorDefinition) => {
    expect(definition.name).toBe(name)
    expect(() => checkEstimator(definition, definition.options.parse({}))).not.toThrow()
  })
  test.each(Object.entries(algorithms))('%s', (name, definition) => expect(definition.name).toBe(name))
})

/** The policy gradient without ratios, with something wrong in it. */
const plain = (wrong: (tokens: PolicyTokens) => unknown = () => {}, scale = 1) =>
  defineLoss({
    kind: 'policy',
    name: 'plain',
    description: 'the policy gradient without ratios',
    options: z.object({}),
    loss: tokens => {
      let value = 0
      for (let t = 0; t < tokens.length; t++) {
        tokens.gradient[t] = -tokens.coefficients[t]! * tokens.advantages[t]!
        value += scale * tokens.gradient[t]! * tokens.logprobs[t]!
      }
      wrong(tokens)
      return value
    },
  })

describe('a loss is refused', () => {
  test('not where it is right', () => expect(() => checkLoss(plain())).not.toThrow())
  test.each<[string, LossDefinition, RegExp]>([
    [
      'a gradient that is not the slope',
      plain(undefined, 2),
      /^the policy loss "plain": the gradient of logprobs at token 0 of sample 0 is -?[\d.]+, and the slope of the value there is -?[\d.]+; correct what it writes into tokens\.gradient, or declare heldConstant/,
    ],
    [
      'numbers that are not finite',
      plain(({ gradient }) => gradient.fill(Number.NaN)),
      /fails on a random batch: .*NaN/,
    ],
    ['inputs that change', plain(({ logprobs }) => (logprobs as Float64Array).fill(-1)), /changes its inputs/],
    ['chance', plain(undefined, Math.random() + 2), /the gradient of/],
    [
      'coefficients that do not count',
      defineLoss({
        kind: 'policy',
        name: 'sum',
        description: 'a sum',
        options: z.object({}),
        loss: ({ length, logprobs, gradient }) => {
          let value = 0
          for (let t = 0; t < length; t++) value += logprobs[t]!
          gradient.fill(1, 0, length)
          return value
        },
      }),
      /multiply the loss of each token by tokens\.coefficients/,
    ],
    [
      'derivatives of a pair',
      defineLoss({
        kind: 'preference',
        name: 'apart',
        description: 'apart',
        options: z.object({}),
        loss: ({ chosen, rejected }) => ({ value: rejected - chosen, chosen: -1, rejected: 2 }),
      }),
      /the gradient of policyRejected at sample 0 is 0\.5, and the slope of the value there is 0\.25; correct the derivatives/,
    ],
  ])('%s', (_, definition, message) => expect(() => checkLoss(definition)).toThrow(message))

  test('a ratio that is a weight has to be declared', () => {
    const weighed = (heldConstant: 'ratio' | 'nothing') =>
      defineLoss({
        kind: 'policy',
        name: 'weighed',
        description: 'ratios as weights',
        options: z.object({}),
        heldConstant,
        loss: ({ length, ratios, logprobs, advantages, coefficients, gradient }) => {
          let value = 0
          for (let t = 0; t < length; t++) {
            gradient[t] = -coefficients[t]! * ratios[t]! * advantages[t]!
            value += gradient[t]! * logprobs[t]!
          }
          return value
        },
      })
    expect(() => checkLoss(weighed('ratio'))).not.toThrow()
    expect(() => checkLoss(weighed('nothing'))).toThrow(/declare heldConstant: 'ratio'/)
  })

  test('by its parts', () => {
    const parts = { kind: 'policy', name: 'x', description: 'x', options: z.object({}), loss: () => 0 } as const
    expect(() => defineLoss({ ...parts, name: './x' })).toThrow(/its name may only have/)
    expect(() => defineLoss({ ...parts, options: z.object({ tisCap: z.number() }) })).toThrow(
      /has an option tisCap already/,
    )
    expect(() => defineLoss({ ...parts, kind: 'value' as 'policy' })).toThrow(
      /there is no kind "value"; there are policy,/,
    )
  })
})

describe('an estimator is refused', () => {
  const shape = (wrong: (rewards: Float64Array) => Float64Array) =>
    defineEstimator({
      name: 'mine',
      description: 'mine',
      options: z.object({}),
      compares: 'samples of a prompt',
      shape: wrong,
    })
  test.each<[string, EstimatorDefinition, RegExp]>([
    ['another length', shape(() => new Float64Array(1)), /shape: expected 2 rewards, got 1/],
    ['what is not finite', shape(rewards => rewards.map(reward => reward / 0)), /shape: rewards\[0\] is Infinity/],
    ['inputs that change', shape(rewards => rewards.fill(0).slice()), /shape: changes its inputs/],
    ['chance', shape(rewards => rewards.map(() => Math.random())), /shape: gives other rewards/],
    ['its input', shape(rewards => rewards), /must be a new array/],
    [
      'one array for both',
      defineEstimator({
        name: 'mine',
        description: 'mine',
        options: z.object({}),
        compares: 'nothing',
        advantages: ({ rewards }) => {
          const both = Float64Array.from(rewards)
          return { advantages: both, returns: both }
        },
      }),
      /must be separate arrays/,
    ],
  ])('%s', (_, definition, message) => expect(() => checkEstimator(definition)).toThrow(message))
})
