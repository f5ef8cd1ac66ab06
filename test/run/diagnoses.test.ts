import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { DiagnosisWatch, diagnose, diagnoses } from '../../src/run/index.js'

const docs = fileURLToPath(new URL('../../docs', import.meta.url))

/** A history from the value of each metric at each step. */
function history(steps: number, metrics: Readonly<Record<string, (step: number) => number | undefined>>) {
  return new Map(
    Object.entries(metrics).map(([name, of]) => [
      name,
      Array.from({ length: steps }, (_, i) => ({ step: i + 1, value: of(i + 1) })).flatMap(({ step, value }) =>
        value === undefined ? [] : [{ step, value }],
      ),
    ]),
  )
}

/** Repeatable noise between -1 and 1. */
const noise = (step: number, salt = 1): number => {
  const x = Math.sin(step * 12.9898 + salt * 78.233) * 43758.5453
  return 2 * (x - Math.floor(x)) - 1
}

const ids = (of: ReturnType<typeof history>): string[] => diagnose(of).map(({ id }) => id)

/** A run in which nothing is wrong. */
const healthy = {
  'reward/mean': (step: number) => 0.2 + 0.005 * step + 0.05 * noise(step),
  'reward/std': () => 0.4,
  'reward/min': () => 0,
  'reward/max': () => 1,
  'groups/zero_variance': (step: number) => 0.3 + 0.1 * noise(step, 2),
  'length/truncated': () => 0.05,
  'grad/norm': (step: number) => 0.5 + 0.2 * noise(step, 3),
  'kl/mean': (step: number) => 0.002 * step,
  'entropy/mean': (step: number) => 0.8 - 0.004 * step,
  'samples/trained': () => 64,
  'drops/zero-variance': () => 500,
}

describe('what is wrong is found', () => {
  test.each<[id: string, steps: number, metrics: Readonly<Record<string, (step: number) => number | undefined>>]>([
    [
      'equal-rewards',
      3,
      { 'reward/mean': () => 0, 'reward/std': () => 0, 'reward/min': () => 0, 'reward/max': () => 0 },
    ],
    ['equal-rewards', 3, { 'reward/std': () => 0, 'reward/mean': () => 1, 'grad/norm': () => 0 }],
    ['equal-groups', 5, { 'groups/zero_variance': () => 0.97, 'reward/mean': () => 0.4, 'reward/std': () => 0.5 }],
    ['truncated', 3, { 'length/truncated': () => 1 }],
    ['no-gradient', 5, { 'loss/train': () => 2, 'grad/norm': () => 0 }],
    ['reward-falls', 40, { 'reward/mean': step => 0.6 - 0.01 * step + 0.03 * noise(step), 'reward/std': () => 0.4 }],
    ['kl-runaway', 20, { 'kl/mean': step => 0.01 * 1.4 ** step }],
    [
      'entropy-collapse',
      30,
      { 'entropy/mean': step => 1.2 * 0.8 ** step, 'reward/mean': step => 0.3 + 0.05 * noise(step) },
    ],
    ['answers-shrink', 30, { 'length/mean': step => 90 * 0.93 ** step, 'reward/mean': step => 0.1 + 0.03 * step }],
    ['overflows', 10, { 'grad/overflows': () => 2 }],
    ['rewards-fail', 3, { 'samples/trained': () => 20, 'drops/timeout': () => 44, 'drops/zero-variance': () => 4 }],
    ['weights-unchanged', 10, { 'weights/changed': () => 1e-6, 'grad/norm': () => 1 }],
    ['loss-rises', 60, { 'loss/train': step => 2 + 0.05 * step + 0.1 * noise(step) }],
    ['overfits', 40, { 'loss/validation': step => (step % 10 === 0 ? 1 + 0.1 * step : undefined) }],
    ['gap-grows', 20, { 'gap/mean': step => 0.005 + (step > 10 ? 0.05 : 0), 'reward/std': () => 0.5 }],
    ['reward-flat', 50, { 'reward/mean': step => 0.3 + 0.05 * noise(step), 'reward/std': () => 0.5 }],
    ['pairs-not-learnt', 60, { 'reward/accuracy': step => 0.5 + 0.1 * noise(step) }],
  ])('%s', (id, steps, metrics) => {
    expect(ids(history(steps, metrics))).toEqual([id])
    // Not yet, a step before there is enough to see.
    if (steps <= 10) expect(ids(history(steps - 1, metrics))).toEqual([])
  })

  test('of trainings of a pretrained model, in the one that was gamed', () => {
    const file = fileURLToPath(new URL('../fixtures/run/real-metrics.json', import.meta.url))
    const runs: Record<string, Record<string, [step: number, value: number][]>> = JSON.parse(readFileSync(file, 'utf8'))
    const found = Object.entries(runs).map(([name, metrics]) => {
      const steps = Math.max(...Object.values(metrics).map(series => series.at(-1)![0]))
      const said = new Set<string>()
      // As the run goes, step by step.
      for (let now = 1; now <= steps; now++) {
        const until = Object.entries(metrics).map(
          ([metric, series]) =>
            [metric, series.flatMap(([step, value]) => (step <= now ? [{ step, value }] : []))] as const,
        )
        for (const id of ids(new Map(until))) said.add(id)
      }
      return [name, [...said]]
    })
    expect(Object.fromEntries(found)).toEqual({
      'GSM8K, SFT': [],
      'GSM8K, GRPO': [],
      'HH-RLHF, reward model': [],
      'HH-RLHF, DPO': [],
      'HH-RLHF, PPO': [],
      'HH-RLHF, PPO with little KL': ['answers-shrink'],
      'sums, GRPO': [],
    })
  })

  test('the words have the numbers, and no braces are left', () => {
    const [found] = diagnose(history(3, { 'reward/mean': () => 6.9e-18, 'reward/std': () => 0 }))
    expect(found).toEqual({
      id: 'equal-rewards',
      message: expect.stringMatching(
        /^All rewards of the last 3 iterations are equal \(0\), so the model cannot learn/,
      ),
      page: 'docs/reading-metrics.md#the-reward-does-not-rise',
    })
  })

  test('only the cause is said of causes and consequences', () => {
    const nothing = { 'reward/mean': () => 0, 'reward/std': () => 0, 'grad/norm': () => 0 }
    expect(ids(history(10, { ...nothing, 'groups/zero_variance': () => 1 }))).toEqual(['equal-rewards'])
    const failing = { 'samples/trained': () => 2, 'drops/error': () => 62 }
    expect(ids(history(10, { ...nothing, ...failing, 'groups/zero_variance': () => 1 }))).toEqual(['rewards-fail'])
  })
})

describe('no false alarm', () => {
  test.each([1, 3, 5, 10, 20, 40, 100, 150])('in the first %d iterations of a run that learns', steps => {
    for (let length = 1; length <= steps; length++) expect(ids(history(length, healthy))).toEqual([])
  })

  test('where the task is solved: equal rewards and no entropy are success', () => {
    const solved = {
      ...healthy,
      'reward/mean': (step: number) => Math.min(1, 0.02 * step),
      'reward/std': (step: number) => (step < 50 ? 0.4 : 0),
      'groups/zero_variance': (step: number) => (step < 50 ? 0.3 : 1),
      'entropy/mean': (step: number) => 0.9 ** step,
      'grad/norm': (step: number) => (step < 50 ? 1 : 1e-6),
    }
    for (let length = 1; length <= 100; length++) expect(ids(history(length, solved))).toEqual([])
  })

  test('in noise alone, of a reward of 0 or 1', () => {
    for (let seed = 0; seed < 30; seed++) {
      const flat = {
        'reward/mean': (step: number) => 0.5 + 0.09 * noise(step, seed),
        'reward/std': () => 0.5,
        'loss/train': (step: number) => 2 + 0.5 * noise(step, seed + 100),
      }
      // A reward that stays where it was is the one thing to say of it, and not before 50 iterations.
      for (let length = 20; length <= 200; length += 5) {
        const said = ids(history(length, flat))
        expect(length < 50 ? said : said.filter(id => id !== 'reward-flat')).toEqual([])
      }
    }
  })

  test('where steps with some gradient follow steps without one', () => {
    expect(ids(history(9, { 'grad/norm': step => (step === 7 ? 0.3 : 0) }))).toEqual([])
  })
})

describe('a run says each once', () => {
  test('when it first holds, and at the end whether it still does', () => {
    const watch = new DiagnosisWatch()
    const said: string[] = []
    for (let step = 1; step <= 10; step++)
      said.push(...watch.step(step, { 'length/truncated': step < 6 ? 1 : 0.1 }).map(({ id }) => `${id} at ${step}`))
    expect(said).toEqual(['truncated at 3'])
    expect(watch.found).toMatchObject([{ id: 'truncated', step: 3, holds: false }])
  })

  test('at the end fewer steps are enough', () => {
    const watch = new DiagnosisWatch()
    expect(watch.step(1, { 'length/truncated': 1, 'grad/norm': 0, 'reward/mean': 1, 'reward/std': 0 })).toEqual([])
    const said = watch.end()
    expect(said.map(({ id, message }) => `${id}: ${message}`)).toEqual([
      expect.stringMatching(/^equal-rewards: All rewards of the last iteration are equal \(1\)/),
      expect.stringMatching(/^truncated: 100 % of the responses of the last iteration ended/),
    ])
    expect(watch.found).toMatchObject([{ step: 1, holds: true }, { holds: true }])
    expect(new DiagnosisWatch().end()).toEqual([])
    const fine = new DiagnosisWatch()
    fine.step(1, { 'length/truncated': 0.1, 'grad/norm': 1, 'reward/mean': 1, 'reward/std': 0.5, 'samples/trained': 8 })
    expect(fine.end()).toEqual([])
  })

  test('a resumed run does not say again what it said', () => {
    const before = history(5, { 'length/truncated': () => 1 })
    const watch = new DiagnosisWatch(before)
    expect(watch.step(6, { 'length/truncated': 1 })).toEqual([])
    expect(watch.found).toMatchObject([{ id: 'truncated', holds: true }])
  })
})

test('weights that stay although there is a gradient are warned of, once', () => {
  const watch = new DiagnosisWatch()
  let at = 0
  const step = (changed: number, norm = 1) => watch.step(++at, { 'weights/changed': changed, 'grad/norm': norm })
  // Nine steps say nothing yet, and steps without a gradient do not count.
  for (let i = 0; i < 9; i++) expect(step(0.00005)).toEqual([])
  expect(step(0, 0)).toEqual([])
  const [found] = step(0.00005)
  expect(found!.message).toMatch(/changed only 0\.05 % of the 16-bit weights/)
  expect(found!.page).toBe('docs/precision.md')
  expect(step(0)).toEqual([])
  const moving = new DiagnosisWatch()
  for (let i = 1; i <= 30; i++) expect(moving.step(i, { 'weights/changed': 0.0002, 'grad/norm': 1 })).toEqual([])
  for (let i = 1; i <= 30; i++) expect(new DiagnosisWatch().step(i, { 'grad/norm': 1 })).toEqual([])
})

test('a history of more points than a call takes arguments is diagnosed', () => {
  const found = ids(
    history(200_000, {
      ...healthy,
      'loss/validation': step => (step > 199_000 ? 3 : 1 + 1 / step),
      'groups/zero_variance': () => 1,
    }),
  )
  expect(found).toContain('overfits')
})

test('every diagnosis has a name of its own, and a section to read', () => {
  expect(new Set(diagnoses.map(({ id }) => id)).size).toBe(diagnoses.length)
  for (const { page, causes = [] } of diagnoses) {
    for (const cause of causes) expect(diagnoses.map(({ id }) => id)).toContain(cause)
    const [file, section] = page.split('#')
    const text = readFileSync(join(docs, file!), 'utf8')
    const sections = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
    if (section !== undefined) expect(sections, page).toContain(section)
  }
})

test('the page lists every diagnosis', async () => {
  const path = join(docs, 'reading-metrics.md')
  const rows = diagnoses.map(({ id, words, page }) => {
    const target = page.replace(/^reading-metrics\.md(?=#)/, '')
    return `- \`${id}\`: ${words.replaceAll('{last}', 'last iterations').replace(/\{\w+\}/g, '_n_')} [Read](${target}).`
  })
  const list = rows.join('\n')
  const text = readFileSync(path, 'utf8')
  const written = text.replace(
    /(<!-- diagnoses -->\n)[\s\S]*(<!-- \/diagnoses -->)/,
    (_, open, close) => `${open}\n${list}\n\n${close}`,
  )
  await expect(written).toMatchFileSnapshot(path)
})
