// The dashboard over a run of a million samples and a hundred thousand steps: how long the index takes, then the first page, filters, a
// search, and the memory of the server. `--samples N --steps N` for less. Then a run that trains, alone and with five browsers open, in
// `--rounds N` of turns of `--seconds N`. With `--pin` the training has the first core, and all else the second one.
//
// `npm run bench:dashboard -- make index pages training` names the parts to do; all of them without names. With `--keep DIRECTORY` the large
// run and its index stay there for the next call.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { crc32 } from 'node:zlib'
import { Run } from 'whetstone/run'
import { root } from '../harness.mjs'
import { get, row, startServer } from './server.mjs'
import { measureWatched } from './watched.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    samples: { type: 'string', default: '1000000' },
    steps: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '10' },
    pin: { type: 'boolean', default: false },
    keep: { type: 'string' },
  },
})
const [samples, steps] = [Number(values.samples), Number(values.steps)]
const parts = positionals.length > 0 ? positionals : ['make', 'index', 'pages', 'training']
const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-dashboard-'))
const runs = values.keep ? resolve(values.keep) : scratch
mkdirSync(runs, { recursive: true })

try {
  if (parts.includes('make')) await make()
  if (parts.includes('index')) await measureIndex()
  if (parts.includes('pages')) await measurePages()
  if (parts.includes('training')) {
    const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
    await measureWatched({ scratch, rounds, seconds, pin: values.pin })
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

async function make() {
  const directory = join(runs, 'large')
  rmSync(directory, { recursive: true, force: true })
  const made = performance.now()
  await makeRun(directory)
  row('the run is made (not counted)', `${seconds(made)} s`)
}

/**
 * Journals and metrics as a run writes them, without a model.
 *
 * @param {string} directory
 */
async function makeRun(directory) {
  const config = { algorithm: 'grpo', iterations: steps, klEstimator: 'k3', temperature: 1, topP: 1, topK: 0 }
  const identity = { command: /** @type {const} */ ('rl'), config, origins: {}, fingerprints: {}, versions: {} }
  const run = await Run.create(directory, identity)
  await run.close('finished')
  cpSync(join(root, 'test/fixtures/tokenizer'), join(directory, 'tokenizer'), { recursive: true })
  const perStep = samples / steps
  let lines = ''
  const log = join(directory, 'logs/metrics.jsonl')
  writeFileSync(log, '')
  for (let step = 0; step < steps; step++) {
    writeFileSync(join(directory, 'journal', `${String(step).padStart(6, '0')}.jsonl`), journalOf(step, perStep))
    lines += `${JSON.stringify({ step: step + 1, time: new Date(step * 1000).toISOString(), values: metricsOf(step) })}\n`
    if (lines.length < 1 << 24 && step < steps - 1) continue
    writeFileSync(log, lines, { flag: 'a' })
    lines = ''
  }
}

/** @param {number} step */
function metricsOf(step) {
  /** @type {Record<string, number>} */
  const values = { 'seconds/total': 3, 'seconds/generation': 2, 'seconds/update': 1 }
  for (const name of [
    'reward/mean',
    'kl/mean',
    'entropy/mean',
    'length/mean',
    'policy/loss',
    'grad/norm',
    'gap/mean',
    'lr',
  ])
    values[name] = Math.sin(step / 1000 + name.length)
  for (let i = 0; i < 40; i++) values[`reward/metric/number${i}`] = step * i
  return values
}

/**
 * @param {number} step
 * @param {number} count
 */
function journalOf(step, count) {
  const prompt = Int32Array.from({ length: 24 }, (_, i) => 20 + ((step * 7 + i * 3) % 150))
  /** @type {object[]} */
  const records = [{ kind: 'prompt', promptId: `row${step}/0`, ids: arrayOf(prompt) }]
  const rewards = []
  for (let sample = 0; sample < count; sample++) {
    const length = 16 + ((step * 13 + sample * 5) % 48)
    const ids = Int32Array.from({ length }, (_, i) => 20 + ((step * 31 + sample * 17 + i * i) % 150))
    const key = { promptId: `row${step}/0`, sample }
    records.push({
      kind: 'outcome',
      ...key,
      of: 'completed',
      requestId: 'r',
      seed: step,
      promptIds: arrayOf(prompt),
      responseIds: arrayOf(ids),
      finishReason: length > 60 ? 'length' : 'stop',
      logprobs: { raw: { $float32: Buffer.from(new Float32Array(length).fill(-1).buffer).toString('base64') } },
      policyVersion: step,
      versions: [],
      timings: { startedMs: 0, finishedMs: 1, preemptions: 0 },
    })
    const reward = ((step * 7919 + sample * 104729) % 1000) / 1000
    rewards.push({ ...key, outcome: { kind: 'scored', reward, components: { answer: reward }, metrics: {} } })
  }
  records.push({ kind: 'rewards', rewards })
  records.push({
    kind: 'rollout',
    samples: rewards.map(({ promptId, sample }) => ({ promptId, sample, given: '', derived: '' })),
    klCoef: 0,
  })
  records.push({ kind: 'end' })
  return records.map(lineOf).join('')
}

/** @param {Int32Array} ids */
function arrayOf(ids) {
  return { $int32: Buffer.from(ids.buffer).toString('base64') }
}

/** @param {object} record */
function lineOf(record) {
  const body = JSON.stringify(record)
  return `{"journal":2,"crc32":"${crc32(body).toString(16).padStart(8, '0')}","record":${body}}\n`
}

async function measureIndex() {
  rmSync(join(runs, 'large/index'), { recursive: true, force: true })
  const indexing = performance.now()
  const server = await startServer(runs)
  for (;;) {
    const { index } = await get(server, '/api/runs/large')
    if (index.state === 'ready' && index.samples >= samples) {
      row('index built, once', `${seconds(indexing)} s, ${Math.round(samples / Number(seconds(indexing)))} samples/s`)
      break
    }
    await new Promise(resolve => setTimeout(resolve, 500))
  }
  row('server memory while the index was built, most', `${megabytes(server, 'VmHWM')} MB`)
  server.child.kill()
}

async function measurePages() {
  const started = performance.now()
  const server = await startServer(runs)
  await get(server, '/api/runs')
  await get(server, '/api/runs/large/curves?metrics=reward/mean,kl/mean,entropy/mean,length/mean')
  await get(server, '/api/runs/large/samples')
  row('first page of a new server (limit 1000 ms)', `${Math.round(performance.now() - started)} ms`)
  for (const [name, path] of [
    ['filter', 'where=reward%3C0.1+finish%3Dlength'],
    ['filter and sort', 'where=length%3E40&sort=reward'],
    ['sort', 'sort=reward&order=ascending'],
    ['search of a text that is rare', 'search=zzqqx'],
    ['search of a text that is common', 'search=e'],
  ]) {
    /** @type {number[]} */
    const times = []
    let last
    for (let i = 0; i < 5; i++) {
      const asked = performance.now()
      last = await get(server, `/api/runs/large/samples?${path}`)
      times.push(performance.now() - asked)
    }
    times.sort((a, b) => a - b)
    row(
      `${name} (limit 300 ms)`,
      `${Math.round(times[2])} ms, ${last.total} samples${last.complete ? '' : ' at least'}`,
    )
  }
  for (const page of ['distributions', 'groups', 'stages', 'alerts', 'metrics']) {
    const asked = performance.now()
    await get(server, `/api/runs/large/${page}`)
    row(page, `${Math.round(performance.now() - asked)} ms`)
  }
  row('server memory (limit 300 MB)', `${megabytes(server, 'VmRSS')} MB, ${megabytes(server, 'VmHWM')} MB at most`)
  // What reads journals comes with libtorch.
  const { rows } = await get(server, '/api/runs/large/samples?limit=1')
  for (const part of ['', '/tokens']) {
    const asked = performance.now()
    await get(server, `/api/runs/large/samples/${encodeURIComponent(rows[0].id)}${part}`)
    row(part === '' ? 'a sample opened' : 'its tokens', `${Math.round(performance.now() - asked)} ms`)
  }
  row('server memory after that', `${megabytes(server, 'VmRSS')} MB, ${megabytes(server, 'VmHWM')} MB at most`)
  server.child.kill()
}

/**
 * Of the server and all its threads.
 *
 * @param {import('./server.mjs').Server} server
 * @param {'VmRSS' | 'VmHWM'} name now, or the most so far
 */
function megabytes({ child }, name) {
  const text = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]) / 1024)
}

/** @param {number} since */
function seconds(since) {
  return ((performance.now() - since) / 1000).toFixed(1)
}
