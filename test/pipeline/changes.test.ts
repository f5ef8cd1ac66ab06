/** What changed is called by the name that the config has for it, and allowed by that name or by its section's. */
import { expect, test } from 'vitest'
import { areAllowed, changedError, stageChanges } from '../../src/pipeline/stage-changes.js'
import { changedInputs } from '../../src/pipeline/stage-record.js'

const before = {
  config: { iterations: 1, gamma: 0.99, optimizer: { lr: 1, eps: 2 }, promptMaxLen: 8 },
  data: ['a'],
  models: { model: 'm' },
  functions: { rewards: 'r' },
}
const changesTo = (now: Partial<typeof before>) =>
  stageChanges('ppo', 'rl', changedInputs(before, { ...before, ...now }))

test('changes have the names of the config', () => {
  const config = { iterations: 2, gamma: 0.9, optimizer: { lr: 2, eps: 3 }, promptMaxLen: 9 }
  const changes = changesTo({ config, data: ['b'], functions: { rewards: 's' } })
  expect(changes.map(({ name }) => name)).toEqual([
    ...['ppoIterations', 'ppo.gamma', 'ppoLrPolicy', 'ppo.optimizer.eps', 'maxLength', 'ppoDataPath', 'ppo.rewards'],
  ])
  expect(changedError('out/ppo', changes).message).toContain('\n  ppo.gamma: was 0.99, is now 0.9\n')
})

test('a name allows itself and what lies in it, and nothing allows another model', () => {
  const changes = changesTo({ config: { ...before.config, gamma: 0.9 }, data: ['b'] })
  expect(areAllowed(changes, ['ppo'])).toBe(false)
  expect(areAllowed(changes, ['ppo', 'ppoDataPath'])).toBe(true)
  expect(areAllowed(changes, ['ppo.gam', 'ppoDataPath'])).toBe(false)
  expect(areAllowed(changesTo({ models: { model: 'n' } }), ['ppo', 'sftModel', 'baseModel'])).toBe(false)
})
