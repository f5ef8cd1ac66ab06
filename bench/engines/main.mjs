/**
 * What our client of engines behind a network costs, and that it loses nothing: against servers that answer at once, in
 * processes of their own.
 *
 *   npm run bench:engines [-- --check] [--only cost,memory,replicas] [--completions 10000]
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { connectSglang, connectVllm } from 'whetstone/rollout'
import { printTable } from '../harness.mjs'

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    only: { type: 'string' },
    completions: { type: 'string', default: '10000' },
  },
})
const only = options.only?.split(',')
const completions = Number(options.completions)
const inFlight = 1000
const tokens = 512
const vocabSize = 32_000

setFlagsFromString('--expose-gc')
const collectGarbage = /** @type {() => void} */ (runInNewContext('gc'))

/** @typedef {import('./server.mjs').Dialect} Dialect */
/** @typedef {import('whetstone/rollout').Generator} Generator */

/**
 * @param {Dialect} dialect
 * @param {number} [delayMs]
 * @returns {Promise<{ url: string, stop: () => void, kill: () => void }>}
 */
async function startServer(dialect, delayMs = 0) {
  const child = fork(fileURLToPath(new URL('server.mjs', import.meta.url)), [dialect, String(delayMs)])
  const { port } = await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', code => reject(new Error(`the server ended with ${code}`)))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => void child.disconnect(),
    kill: () => void child.kill('SIGKILL'),
  }
}

/** @param {Dialect} dialect @param {readonly string[]} urls @param {number} maxInFlight @returns {Promise<Generator>} */
function connect(dialect, urls, maxInFlight) {
  return (dialect === 'sglang' ? connectSglang : connectVllm)({ urls, vocabSize, maxInFlight })
}

const promptIds = Int32Array.from({ length: 64 }, (_, i) => (i * 101) % vocabSize)
/** @param {number} count */
function* requests(count) {
  const sampling = { seed: 1, maxNewTokens: tokens, ignoreEos: true }
  for (let i = 0; i < count; i++) yield { id: `r${i}`, promptIds, sampling }
}

/**
 * Everything of a stream, in order of arrival; whatever is not a whole sample is an error.
 *
 * @param {Generator} generator @param {number} count @param {(done: number) => void} [onSample]
 */
async function consume(generator, count, onSample) {
  const seen = new Set()
  for await (const outcome of generator.generate(requests(count))) {
    if (outcome.kind !== 'completed') throw new Error(`${outcome.requestId}: ${outcome.reason}: ${outcome.message}`)
    if (outcome.responseIds.length !== tokens) throw new Error(`${outcome.responseIds.length} tokens`)
    if (Object.values(outcome.logprobs).some(values => values.length !== tokens)) throw new Error('log-probabilities')
    if (seen.has(outcome.requestId)) throw new Error(`${outcome.requestId} came twice`)
    seen.add(outcome.requestId)
    onSample?.(seen.size)
  }
  if (seen.size !== count) throw new Error(`${seen.size} of ${count} samples came`)
}

/** CPU and wall milliseconds per unit. @param {number} count @param {() => Promise<void>} work */
async function measured(count, work) {
  const [cpu, wall] = [process.cpuUsage(), performance.now()]
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { cpu: (user + system) / 1e3 / count, wall: (performance.now() - wall) / count }
}

/** What nobody can do without: `fetch`, `JSON.parse`, and as many at once. @param {string} url @param {string} body @param {number} count */
async function plainFetch(url, body, count) {
  let left = count
  const worker = async () => {
    while (left-- > 0) {
      const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
      JSON.parse(await response.text())
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}

/** @type {{ name: string, dialect: Dialect, path: string, body: object }[]} */
const columns = [
  {
    name: 'vLLM /inference/v1/generate',
    dialect: 'vllm-tokens',
    path: '/inference/v1/generate',
    body: { token_ids: [...promptIds], sampling_params: { max_tokens: tokens } },
  },
  {
    name: 'vLLM /v1/completions',
    dialect: 'vllm-completions',
    path: '/v1/completions',
    body: { prompt: [...promptIds], max_tokens: tokens },
  },
  {
    name: 'SGLang /generate',
    dialect: 'sglang',
    path: '/generate',
    body: { input_ids: [...promptIds], sampling_params: { max_new_tokens: tokens } },
  },
]

async function cost() {
  const rows = []
  for (const { name, dialect, path, body } of columns) {
    const server = await startServer(dialect)
    const generator = await connect(dialect, [server.url], inFlight)
    try {
      // In turns, and of each the least disturbed round.
      let [ours, floor] = [Infinity, Infinity]
      let rate = 0
      await consume(generator, 2000)
      for (let round = 0; round < 3; round++) {
        const mine = await measured(completions, () => consume(generator, completions))
        ours = Math.min(ours, mine.cpu)
        rate = Math.max(rate, 1000 / mine.wall)
        const count = Math.ceil(completions / 4)
        const plain = await measured(count, () => plainFetch(`${server.url}${path}`, JSON.stringify(body), count))
        floor = Math.min(floor, plain.cpu)
      }
      rows.push({
        name,
        cells: [`${ours.toFixed(3)} ms`, `${floor.toFixed(3)} ms`, `${(ours / floor).toFixed(2)}x`, rate.toFixed(0)],
        targets: [{ text: 'under 1 ms', holds: ours < 1 }],
      })
    } finally {
      await generator.close()
      server.stop()
    }
  }
  console.log(
    `\n${completions} completions of ${tokens} tokens with log-probabilities, ${inFlight} in flight: CPU for one`,
  )
  return printTable(['route', 'whetstone', 'fetch + JSON.parse', 'ratio', 'completions/s'], rows)
}

async function memory() {
  const server = await startServer('vllm-tokens')
  const generator = await connect('vllm-tokens', [server.url], inFlight)
  // The most there was in the second fifth and in the last one: in the first the process still grows to its size.
  const fifths = [1, 4]
  const heap = fifths.map(() => 0)
  const resident = fifths.map(() => 0)
  try {
    await consume(generator, 5 * completions, done => {
      const at = fifths.indexOf(Math.floor((done - 1) / completions))
      if (at < 0 || done % 250 !== 0) return
      if (done % 2500 === 0) {
        collectGarbage()
        const { heapUsed, external } = process.memoryUsage()
        heap[at] = Math.max(heap[at], heapUsed + external)
      }
      resident[at] = Math.max(resident[at], process.memoryUsage.rss())
    })
  } finally {
    await generator.close()
    server.stop()
  }
  const mb = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(0)} MB`
  const head = fifths.map(fifth => `${fifth * completions} to ${(fifth + 1) * completions}`)
  console.log(`\nmemory of this process by completions, ${inFlight} in flight: the most`)
  return printTable(
    ['', ...head, 'growth'],
    Object.entries({ 'heap and buffers in use': heap, resident }).map(([name, [first, last]]) => ({
      name,
      cells: [mb(first), mb(last), `${(last / first).toFixed(2)}x`],
      // The names of samples that came are kept here, to count them: about 100 bytes each.
      targets: [{ text: 'flat: at most 1.2x', holds: last / first <= 1.2 }],
    })),
  )
}

async function replicas() {
  const count = Math.ceil(completions / 2)
  const [fast, slow] = [40, 2000]
  const [steady, slower, dying] = await Promise.all([fast, slow, fast].map(ms => startServer('vllm-tokens', ms)))
  const generator = await connect('vllm-tokens', [steady.url, slower.url, dying.url], 64)
  const rows = []
  try {
    const started = performance.now()
    let killed = 0
    await consume(generator, count, done => {
      if (killed > 0 || done < count / 2) return
      dying.kill()
      killed = done
    })
    rows.push({
      name: `${count} samples, exactly once`,
      cells: [String(killed), `${((performance.now() - started) / 1000).toFixed(1)} s`],
      // `consume` throws where one is missing, comes twice or fails.
      targets: [{ text: 'all arrive once', holds: killed > 0 }],
    })
  } finally {
    await generator.close()
    for (const server of [steady, slower]) server.stop()
  }
  console.log(
    `\nthree servers: ${fast} ms an answer, ${slow} ms (${slow / fast}x slower), ${fast} ms and killed midway`,
  )
  return printTable(['', 'killed after', 'took'], rows)
}

console.log(`node ${process.version}`)
let kept = true
for (const [name, measure] of Object.entries({ cost, memory, replicas }))
  if (!only || only.includes(name)) kept = (await measure()) && kept
if (options.check && !kept) process.exitCode = 1
