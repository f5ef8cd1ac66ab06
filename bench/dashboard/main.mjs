// The dashboard over a run of a million samples and a hundred thousand steps: how long the index takes, then the first page, filters, a
// search, and the memory of the server. `--samples N --steps N` for less. Then a run that trains, alone and with five browsers open, in turns
// of the same length (`--turns N`). Without a Chromium the browsers are five clients that ask for what a page asks for.
//
// `npm run bench:dashboard -- make index pages training` names the parts to do; all of them without names. With `--keep DIRECTORY` the large
// run and its index stay there for the next call.

import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { crc32 } from 'node:zlib'
import { Run } from 'whetstone/run'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    samples: { type: 'string', default: '1000000' },
    steps: { type: 'string', default: '100000' },
    turns: { type: 'string', default: '10' },
    keep: { type: 'string' },
  },
})
const [samples, steps] = [Number(values.samples), Number(values.steps)]
const parts = positionals.length > 0 ? positionals : ['make', 'index', 'pages', 'training']
const root = fileURLToPath(new URL('../..', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-dashboard-'))
const runs = values.keep ? resolve(values.keep) : scratch
mkdirSync(runs, { recursive: true })

try {
  if (parts.includes('make')) await make()
  if (parts.includes('index')) await measureIndex()
  if (parts.includes('pages')) await measurePages()
  if (parts.includes('training')) await slowdown(Number(values.turns))
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
  const server = await start(runs)
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
  const server = await start(runs)
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
 * A run that trains while five pages look at it, and while none does, in turns. The pages ask what the page of a browser asks for.
 *
 * @param {number} turns
 */
async function slowdown(turns) {
  const at = (/** @type {string} */ name) => join(scratch, name)
  const rows = Array.from({ length: 100 }, (_, i) => JSON.stringify({ prompt: `${i} + ${i % 7} = ?` }))
  writeFileSync(at('data.jsonl'), rows.join('\n'))
  writeFileSync(
    at('reward.json'),
    '{"sources":{"long":{"type":"rule","rule":"length","unit":"characters","min":40,"falloff":40}}}',
  )
  whetstone(['tokenizer', 'train', '--input', at('data.jsonl'), '--vocab-size', '300', '--out', at('tok')])
  const shape = ['--hidden', '192', '--intermediate', '512', '--layers', '4', '--heads', '4', '--context', '256']
  whetstone(['init', '--family', 'qwen2', ...shape, '--tokenizer', at('tok'), '--out', at('model')])
  const size = ['--rollout-batch-size', '8', '--n-samples-per-prompt', '8', '--max-new-tokens', '32']
  const files = ['--model', at('model'), '--data', at('data.jsonl'), '--rewards', at('reward.json')]
  const training = spawn(
    process.execPath,
    [join(root, 'install/whetstone.mjs'), 'grpo', ...files, ...size, '--iterations', '1000000', '--output', at('live')],
    // Rewards, the server and the pages have their own cores where there are some.
    { stdio: 'ignore', env: { ...process.env, OMP_NUM_THREADS: process.env.OMP_NUM_THREADS ?? '1' } },
  )
  const server = await start(scratch)
  try {
    while (iterationsOf(at('live')).length < 5) await pause(500)
    /** @type {{ alone: number[], watched: number[] }} */
    const found = { alone: [], watched: [] }
    for (let turn = 0; turn < 2 * turns; turn++) {
      const of = turn % 2 === 0 ? 'alone' : 'watched'
      const pages = Array.from({ length: of === 'alone' ? 0 : 5 }, () => openPage(server))
      await pause(1500)
      const before = iterationsOf(at('live')).length
      await pause(8000)
      found[of].push(...iterationsOf(at('live')).slice(before))
      for (const close of pages) await close()
    }
    const [alone, watched] = [median(found.alone), median(found.watched)]
    row('an iteration alone', `${(1000 * alone).toFixed(1)} ms (median of ${found.alone.length})`)
    row('an iteration with five pages open', `${(1000 * watched).toFixed(1)} ms (median of ${found.watched.length})`)
    row('training is slowed by (limit 1 %)', `${(100 * (watched / alone - 1)).toFixed(2)} %`)
  } finally {
    training.kill('SIGKILL')
    server.child.kill()
  }
}

/**
 * What a page of a browser asks for: events, and after each of them curves, samples and the state of the run. Gives what closes it.
 *
 * @param {Server} server
 */
function openPage(server) {
  const closed = new AbortController()
  const headers = { authorization: `Bearer ${server.token}` }
  const looking = (async () => {
    const events = await fetch(`${server.url}/api/events?run=live`, { headers, signal: closed.signal })
    for await (const _ of /** @type {AsyncIterable<Uint8Array>} */ (events.body))
      for (const path of [
        '',
        '/curves?metrics=reward/mean,kl/mean,entropy/mean,grad/norm,length/mean',
        '/samples',
        '/alerts',
      ])
        await get(server, `/api/runs/live${path}`)
  })().catch(() => {})
  return async () => {
    closed.abort()
    await looking
  }
}

/**
 * Seconds of each iteration so far.
 *
 * @param {string} run
 * @returns {number[]}
 */
function iterationsOf(run) {
  const path = join(run, 'logs/metrics.jsonl')
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.flatMap(line => JSON.parse(line).values['seconds/total'] ?? [])
}

/** @param {readonly number[]} numbers */
function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}

/** @param {number} ms */
function pause(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** @param {readonly string[]} args */
function whetstone(args) {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'install/whetstone.mjs'), ...args], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`whetstone ${args.join(' ')}: ${stderr}`)
}

/** @typedef {{ child: import('node:child_process').ChildProcess, url: string, token: string }} Server */

/**
 * @param {string} runs
 * @returns {Promise<Server>}
 */
function start(runs) {
  const child = spawn(process.execPath, [join(root, 'install/whetstone.mjs'), 'dashboard', runs, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.on('exit', code => reject(new Error(`the dashboard ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', line => {
      const [, url, token] = /^(http:\S+)\/#token=(\S+)$/.exec(line) ?? []
      if (url && token) resolve({ child, url, token })
    })
  })
}

/**
 * @param {Server} server
 * @param {string} path
 * @returns {Promise<any>}
 */
async function get({ url, token }, path) {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
  const body = /** @type {any} */ (await answer.json())
  if (!answer.ok) throw new Error(body.error)
  return body
}

/**
 * Of the server and all its threads.
 *
 * @param {Server} server
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

/**
 * @param {string} name
 * @param {string} value
 */
function row(name, value) {
  console.log(`${name.padEnd(48)} ${value}`)
}
