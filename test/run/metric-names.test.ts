import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
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

test('every name that the sources of training have is in the table', () => {
  const groups = new Set(metricNames.map(({ name }) => name.split('/')[0]))
  const root = fileURLToPath(new URL('../../src/train', import.meta.url))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
  const named = files.flatMap(file => {
    const literals = readFileSync(join(root, file), 'utf8').matchAll(/'([a-z]+)\/([a-z_]+(?:\/[a-z_]+)*)'/g)
    return [...literals].filter(([, group]) => groups.has(group)).map(([, group, rest]) => `${group}/${rest}`)
  })
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter(name => !isMetricName(name))).toEqual([])
})
