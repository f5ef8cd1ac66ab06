import { expect, test } from 'vitest'
import { isMetricName, metricNames } from '../../src/run/index.js'
import { metricsPage } from './metrics-page.js'

test('the docs are made from the table', async () => {
  await expect(metricsPage()).toMatchFileSnapshot('../../docs/metrics.md')
})

test('every name is there once, is its own instance, and is described', () => {
  expect(new Set(metricNames.map(({ name }) => name)).size).toBe(metricNames.length)
  for (const { name, meaning } of metricNames) {
    expect(isMetricName(name.replace(/<\w+>/, 'x')), name).toBe(true)
    expect(name).toMatch(/^[a-z]+(\/[a-z_]+)?(\/?<[a-z]+>)?$/)
    expect(meaning.length, name).toBeGreaterThan(10)
    expect(meaning, name).not.toMatch(/\.$|\|/)
  }
})

test('patterns take any name in their place, and only there', () => {
  expect(isMetricName('reward/component/https://host/score')).toBe(true)
  for (const name of ['reward/component/', 'reward/component', 'seconds', 'lr/', 'loss', 'reward/<source>', ''])
    expect(isMetricName(name), name).toBe(false)
})
