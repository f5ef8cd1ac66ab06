/** What acts mean for an iteration: the same for a run, a resumed run and a replay, which read one list. */
import { expect, test } from 'vitest'
import { actsInForce } from '../../../src/run/index.js'
import {
  type Act,
  actedConfig,
  actedKlCoef,
  actSchema,
  droppedRows,
  knownActs,
  settingProblem,
  settingsOf,
} from '../../../src/train/rl/acts.js'
import { configOf } from '../../support/rl.js'

const config = configOf({
  model: 'm',
  data: 'd',
  rewards: 'r',
  output: 'o',
  klController: { kind: 'fixed', coef: 0.1 },
})
const acts = (...list: readonly (readonly [from: number, act: Act])[]) =>
  list.map(([from, act]) => ({ time: '2026-01-01T00:00:00Z', from, act }))

test('a value holds from its iteration on, and the later act wins', () => {
  const list = acts(
    [2, { act: 'set', option: 'temperature', value: 0.5 }],
    [2, { act: 'set', option: 'optimizer.lr', value: 1e-3 }],
    [4, { act: 'set', option: 'temperature', value: 0.2 }],
    [4, { act: 'set', option: 'klController.coef', value: 0.3 }],
    [4, { act: 'set', option: 'klController.coef', value: 0.4 }],
  )
  const at = (iteration: number) => actedConfig(config, list, iteration)
  expect([1, 2, 3, 4, 9].map(iteration => at(iteration).temperature)).toEqual([config.temperature, 0.5, 0.5, 0.2, 0.2])
  expect([1, 2].map(iteration => at(iteration).optimizer.lr)).toEqual([config.optimizer.lr, 1e-3])
  // An adaptive controller goes on from the coefficient: it is set once, at its iteration.
  expect([3, 4, 5].map(iteration => actedKlCoef(list, iteration))).toEqual([undefined, 0.4, undefined])
  // An act that came later, and counts from an earlier iteration on, replaces it.
  const later = [...list, ...acts([3, { act: 'set', option: 'klController.coef', value: 0.1 }])]
  expect([3, 4].map(iteration => actedKlCoef(later, iteration))).toEqual([0.1, undefined])
})

test('a KL coefficient of 0 can be raised again, and a run without a reference has none to raise', () => {
  const off = acts([1, { act: 'set', option: 'klController.coef', value: 0 }])
  const settings = (of: typeof config) =>
    settingsOf(of, { acts: off, iteration: 1, klCoef: 0.1, heldOut: 0 }).find(({ option }) => option.startsWith('kl'))
  expect(settings(config)).toMatchObject({ value: 0, reason: null })
  const without = configOf({ ...config, klController: { kind: 'fixed', coef: 0 } })
  expect(settings(without)?.reason).toMatch('without a reference')
})

test('what a resume gives an option that people had set counts from there on', () => {
  const list = acts([2, { act: 'set', option: 'temperature', value: 0.5 }])
  const change = { from: 1, since: 6 }
  const changed = actsInForce(list, [
    { ...change, time: '2026-01-02T00:00:00Z', key: 'temperature', to: 0.9 },
    { ...change, time: '2026-01-02T00:00:00Z', key: 'optimizer.lr', to: 1e-5 },
  ])
  const given = { ...config, temperature: 0.9 }
  const at = (iteration: number) => actedConfig(given, knownActs(changed), iteration).temperature
  expect([2, 5, 6, 7].map(at)).toEqual([0.5, 0.5, 0.9, 0.9])
  expect(changed).toHaveLength(2)
  // An act after that resume is the later one.
  const [again] = acts([6, { act: 'set', option: 'temperature', value: 0.7 }])
  const later = actsInForce(
    [...list, { ...again!, time: '2026-01-03T00:00:00Z' }],
    [{ ...change, time: '2026-01-02T00:00:00Z', key: 'temperature', to: 0.9 }],
  )
  expect(actedConfig(given, knownActs(later), 6).temperature).toBe(0.7)
})

test('a prompt is out from its iteration on, in every epoch, until it is back', () => {
  const list = acts(
    [1, { act: 'drop-prompt', promptId: 'a/0' }],
    [2, { act: 'drop-prompt', promptId: 'b/3' }],
    [5, { act: 'restore-prompt', promptId: 'a/2' }],
  )
  expect([0, 1, 2, 5].map(iteration => [...droppedRows(list, iteration)])).toEqual([[], ['a'], ['a', 'b'], ['b']])
})

test('values are checked by the schema of the config, and acts by theirs', () => {
  const problem = (option: 'optimizer.lr' | 'temperature' | 'klController.coef' | 'evaluation.every', value: number) =>
    settingProblem(config, { option, value })
  expect(problem('optimizer.lr', 1e-5)).toBeUndefined()
  for (const [option, value] of [
    ['optimizer.lr', 0],
    ['temperature', -1],
    ['klController.coef', -1],
    ['evaluation.every', 1.5],
  ] as const)
    expect(problem(option, value), option).toMatch(option)
  for (const wrong of [
    ...[{ act: 'set', option: 'model', value: 1 }, { act: 'set', option: 'temperature', value: 'hot' }, { act: 'run' }],
    ...[
      { act: 'pause', more: 1 },
      { act: 'drop-prompt', promptId: '' },
      { act: 'drop-sample', promptId: 'a', sample: -1 },
    ],
  ])
    expect(actSchema.safeParse(wrong).success, JSON.stringify(wrong)).toBe(false)
})
