import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type {
  AlertsAnswer,
  CurvesAnswer,
  MetricsAnswer,
  RunDetail,
  RunsAnswer,
  StagesAnswer,
} from '../../src/dashboard/api.js'
import { metricNames, Run } from '../../src/run/index.js'
import { AskedDashboard } from '../support/dashboard.js'
import { temporaryDirectory } from '../support/files.js'
import { identity } from '../support/run.js'

let runs: string
let asked: AskedDashboard
let dashboard: AskedDashboard['dashboard']

beforeAll(async () => {
  runs = temporaryDirectory()
  const config = { algorithm: 'grpo', iterations: 40, optimizer: { lr: 0.1 } }
  const run = await Run.create(join(runs, 'one'), identity(config, { command: 'rl' }))
  for (let step = 1; step <= 40; step++)
    run.metrics(step, { 'reward/mean': step / 40, 'seconds/generation': 2, 'seconds/update': 1, 'seconds/total': 3 })
  await run.close('finished')
  mkdirSync(join(runs, 'not-a-run'))
  await troubledRun(join(runs, 'two'))
  asked = await AskedDashboard.over(runs)
  dashboard = asked.dashboard
})
afterAll(() => asked.close())

/** Its reward stays where it is, and something was done to it. */
async function troubledRun(directory: string): Promise<void> {
  const config = { algorithm: 'grpo', iterations: 80, optimizer: { lr: 0.5 } }
  const run = await Run.create(directory, identity(config, { command: 'rl' }))
  for (let step = 1; step <= 80; step++) {
    const noise = Math.sin(step) / 50
    run.metrics(step, { 'reward/mean': 0.3 + noise, 'reward/std': 0.2, 'entropy/mean': 2, 'seconds/total': 1 })
    if (step === 20) await run.checkpoint(20, {}, async () => {})
    if (step === 30) run.event('act', { text: 'temperature is 0.7 from iteration 30 on', iteration: 30 })
    const said = { message: 'Everything is truncated.', page: 'docs/reading-metrics.md', step: 40 }
    if (step === 40) run.event('warning', { diagnosis: 'truncated', ...said })
  }
  await run.close('stopped')
}

const ask: AskedDashboard['ask'] = (path, options) => asked.ask(path, options)
const get = <T>(path: string): Promise<T> => asked.get<T>(path)
const token = () => asked.token

describe('what is shown', () => {
  test('the runs of a directory, with status and last reward', async () => {
    const { runs: found, unreadable } = await get<RunsAnswer>('/api/runs')
    expect(found).toMatchObject([
      { name: 'one', kind: 'grpo', status: 'finished', step: 40, steps: 40, listening: false, resumable: false },
      { name: 'two', kind: 'grpo', status: 'stopped', step: 80, steps: 80, resumable: true, alerts: 1 },
    ])
    expect(found.map(({ differences }) => differences)).toEqual([
      { iterations: '40', 'optimizer.lr': '0.1' },
      { iterations: '80', 'optimizer.lr': '0.5' },
    ])
    expect(found[0]!.headline).toMatchObject({ metric: 'reward/mean', last: 1, best: 1 })
    expect(unreadable).toEqual([])
  })

  test('the stages of a pipeline, one level deeper', async () => {
    const parent = temporaryDirectory()
    for (const stage of ['sft', 'ppo']) {
      const run = await Run.create(join(parent, 'rlhf', stage), identity({}, { command: 'sft' }))
      run.metrics(1, { 'loss/train': 2 })
      await run.close('finished')
    }
    const other = await AskedDashboard.over(parent)
    try {
      const { runs: found } = await other.get<RunsAnswer>('/api/runs')
      expect(found.map(({ name }) => name)).toEqual(['rlhf/ppo', 'rlhf/sft'])
      const { name, step } = await other.get<RunDetail>(`/api/runs/${encodeURIComponent('rlhf/sft')}`)
      expect({ name, step }).toEqual({ name: 'rlhf/sft', step: 1 })
      const outside = `/api/runs/${encodeURIComponent('rlhf/../rlhf/sft')}`
      expect((await other.ask(outside, { headers: other.token })).status).toBe(404)
    } finally {
      await other.close()
    }
  })

  test('what is wrong with a run, what was and is not any more, and what was done to it', async () => {
    const { alerts } = await get<AlertsAnswer>('/api/runs/two/alerts')
    expect(alerts).toMatchObject([
      {
        id: 'reward-flat',
        holds: true,
        advice: expect.stringContaining('Read'),
        metrics: ['reward/mean', 'reward/std'],
      },
      { id: 'truncated', holds: false, step: 40, message: 'Everything is truncated.', metrics: [] },
    ])
    const { markers, checkpoints } = await get<RunDetail>('/api/runs/two')
    expect(checkpoints).toEqual([20])
    expect(markers).toMatchObject([{ kind: 'checkpoint' }, { kind: 'act', step: 30 }, { kind: 'warning', step: 40 }])
    const { metrics, across } = await get<MetricsAnswer>('/api/runs/two/metrics')
    expect(across).toBe('iteration')
    expect(metrics.map(({ name, main }) => [name, main])).toEqual([
      ...[
        ['reward/mean', true],
        ['entropy/mean', true],
        ['seconds/total', true],
        ['reward/std', false],
      ],
    ])
  })

  test('a run, its curves thinned and its stages', async () => {
    expect(await get<RunDetail>('/api/runs/one')).toMatchObject({ name: 'one', config: { iterations: 40 } })
    const whole = await get<CurvesAnswer>('/api/runs/one/curves?metrics=reward/mean')
    expect(whole.curves[0]!.values).toHaveLength(40)
    const { curves } = await get<CurvesAnswer>('/api/runs/one/curves?metrics=reward/mean&points=10&from=1&to=40')
    expect(curves[0]).toMatchObject({ steps: [4, 8, 12, 16, 20, 24, 28, 32, 36, 40] })
    expect(curves[0]!.low![0]).toBeCloseTo(1 / 40)
    expect(curves[0]!.high![0]).toBeCloseTo(4 / 40)
    const { slowest, iterations } = await get<StagesAnswer>('/api/runs/one/stages')
    expect(slowest).toMatchObject({ stage: 'generation', share: 2 / 3 })
    expect(iterations).toHaveLength(40)
    const parts = await get<StagesAnswer>('/api/runs/one/stages?points=3&from=2&to=12')
    expect(parts.iterations.map(({ step, seconds, queue }) => [step, seconds.update, queue])).toEqual([
      [5, 1, null],
      [9, 1, null],
      [12, 1, null],
    ])
  })
})

describe('whatever a run logs', () => {
  /** Answers about a run that logged this. */
  async function over(command: 'rl' | 'sft', log: (run: Run) => void): Promise<AskedDashboard> {
    const directory = temporaryDirectory()
    const run = await Run.create(join(directory, 'run'), identity({}, { command }))
    log(run)
    await run.close('finished')
    const other = await AskedDashboard.over(directory)
    onTestFinished(() => other.close())
    return other
  }

  test('every documented metric is among the curves, with what it means', async () => {
    const documented = new Map(
      metricNames.map(({ name, meaning }) => [name.replace(/<\w+>/, 'own'), meaning.replaceAll('`', '')]),
    )
    const names = [...documented.keys()]
    const other = await over('rl', run => run.metrics(1, Object.fromEntries(names.map((name, n) => [name, n]))))
    const { metrics } = await other.get<MetricsAnswer>('/api/runs/run/metrics')
    expect(new Map(metrics.map(({ name, meaning }) => [name, meaning]))).toEqual(documented)
    const { curves } = await other.get<CurvesAnswer>(`/api/runs/run/curves?metrics=${names.join(',')}`)
    expect(curves.map(({ metric, values }) => [metric, values])).toEqual(names.map((name, n) => [name, [n]]))
  })

  test('the stages of a training on rows, which logs no total, and those that only some steps have', async () => {
    const other = await over('sft', run => {
      for (let step = 1; step <= 100; step++) {
        run.metrics(step, { 'seconds/data': 1, 'seconds/update': 3 })
        if (step % 50 === 0) run.metrics(step, { 'seconds/evaluation': 20 })
      }
    })
    const { across, stages, iterations, slowest } = await other.get<StagesAnswer>('/api/runs/run/stages?points=2')
    expect(across).toBe('step')
    expect(stages).toEqual(['data', 'update', 'evaluation'])
    expect(iterations.map(({ step, seconds }) => ({ step, ...seconds }))).toEqual([
      { step: 50, data: 1, update: 3, evaluation: 0.4, total: 4.4 },
      { step: 100, data: 1, update: 3, evaluation: 0.4, total: 4.4 },
    ])
    expect(slowest).toMatchObject({ stage: 'update', share: expect.closeTo(3 / 4.4) })
  })
})

describe('who may ask', () => {
  test('nothing without the token, and a cookie for it', async () => {
    expect((await ask('/api/runs')).status).toBe(401)
    expect((await ask('/api/runs', { headers: { authorization: 'Bearer no' } })).status).toBe(401)
    const json = { 'content-type': 'application/json' }
    const wrong = await ask('/api/login', { method: 'POST', headers: json, body: '{"token":"no"}' })
    expect(wrong.status).toBe(401)
    const body = JSON.stringify({ token: dashboard.token })
    const login = await ask('/api/login', { method: 'POST', headers: json, body })
    const [cookie] = login.headers['set-cookie'] as string[]
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/)
    expect((await ask('/api/runs', { headers: { cookie: cookie!.split(';')[0]! } })).status).toBe(200)
  })

  test('no other site, and no name that was made to point here', async () => {
    const host = `127.0.0.1:${dashboard.port}`
    const status = async (headers: Record<string, string>) =>
      (await ask('/api/runs', { headers: { ...token(), ...headers } })).status
    expect(await status({ origin: `http://${host}`, host })).toBe(200)
    // Of a proxy that speaks TLS to the browser.
    expect(await status({ origin: `https://${host}`, host })).toBe(200)
    for (const origin of ['https://evil.example', `https://${host}.evil.example`, `ftp://${host}`, host.slice(1)])
      expect(await status({ origin, host }), origin).toBe(403)
    expect(await status({ origin: 'null', host })).toBe(403)
    expect(await status({ host: `evil.example:${dashboard.port}` })).toBe(403)
    expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await status({ host: `localhost:${dashboard.port}` })).toBe(200)
  })

  test('no path but those of routes and files', async () => {
    for (const path of [
      '/../package.json',
      '/%2e%2e/package.json',
      '/api/runs/..%2F..%2Fetc',
      '/api/runs/%2e%2e',
      '/api/runs/one%00',
      '/api/runs/%ff',
      '/static/../server.js',
    ])
      expect((await ask(path, { headers: token() })).status, path).toBe(404)
    expect((await ask('/api/runs', { method: 'DELETE', headers: token() })).status).toBe(405)
  })

  test('every answer forbids scripts that are not of the page', async () => {
    const page = await ask('/')
    expect(page.status).toBe(200)
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'; script-src 'self'/)
    expect((await ask('/api/runs')).headers['content-security-policy']).toBeDefined()
  })
})
