/**
 * A run that trains, alone and while five pages look at it, in turns of the same length: in five real browsers, and as five clients that
 * ask for what those asked for. A browser usually runs on another machine, and here it takes processor time and caches from the training:
 * it runs with the lowest priority, as the clients do, which show what is left without it. How far two turns alone are apart is measured in the
 * same way, so that it is known what the figures can tell. A turn during which other programs used the processor is done again.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { chromiumArguments, chromiumPath } from '../../tools/chromium.mjs'
import { get, pause, row, startServer, startWhetstone, whetstone } from './server.mjs'

/** Cores that other programs may have during a turn, and how many turns are done again for it. */
const [mostOthers, mostAgain] = [0.05, 200]

/** What the five pages show. */
const views = ['curves', 'curves?group=all', 'samples', 'stages', 'distributions']

/** @typedef {ReadonlyMap<string, number>} Asked how often a second a page asks for a path */

/** What the pages ask for once in a second, for a machine without a browser.
 * @type {readonly (readonly string[])[]} */
const usual = [
  ...[0, 1].map(() => [
    ...['', '/metrics'],
    ...['reward/mean', 'kl/mean', 'entropy/mean', 'grad/norm', 'length/mean', 'seconds/total'].map(
      metric => `/curves?metrics=${encodeURIComponent(metric)}&points=1000`,
    ),
  ]),
  ['', '/samples?offset=0&limit=50&sort=iteration&order=descending'],
  ['', '/stages'],
  ['', '/distributions'],
]

/**
 * @typedef {{ iteration: number, cpu: number, count: number, server: number, others: number }} Turn seconds of an iteration, and of the
 *   training's processor time for it; `server`, `others`: how many cores the server, and other programs, had
 * @typedef {{ settled: Promise<void>, close(): Promise<readonly Asked[]> }} Watchers
 * @typedef {import('./server.mjs').Server} Server
 */

/**
 * @param {{ scratch: string, rounds: number, seconds: number, pin: boolean }} options `pin`: the training has a core, all else another
 */
export async function measureWatched({ scratch, rounds, seconds, pin }) {
  const [one, other] = [0, 1].map(core => (pin ? ['taskset', '-c', String(core)] : []))
  if (pin) spawnSync('taskset', ['-a', '-cp', '1', String(process.pid)])
  const training = train(scratch, one)
  const server = await startServer(scratch, other)
  giveWay()
  const browser = await launch(scratch, other)
  try {
    while (linesOf(scratch).length < 5) await pause(500)
    /** @type {Asked[][]} */
    const asked = []
    /** @type {Record<string, Turn[]>} */
    const found = { alone: [], again: [], browsers: [], clients: [] }
    const rates = { browsers: 0, clients: 0 }
    let again = 0
    for (let round = 0; round < rounds; round++) {
      // What gets slower or faster with time meets all of them alike. Clients ask for what browsers asked for before.
      const orders = [
        ['alone', 'browsers', 'again', 'clients'],
        ['browsers', 'clients', 'alone', 'again'],
        ['again', 'browsers', 'clients', 'alone'],
        ['browsers', 'alone', 'clients', 'again'],
      ]
      for (const name of orders[round % orders.length]) {
        if (name === 'browsers' && !browser) continue
        const watchers =
          name === 'browsers'
            ? openPages(/** @type {import('playwright-core').Browser} */ (browser), server)
            : name === 'clients'
              ? openClients(server, browser ? mostAsked(asked) : usualAsked())
              : undefined
        await watchers?.settled
        await pause(1500)
        let turn = await turnOf(scratch, training, server, seconds)
        for (; turn.others > mostOthers && again < mostAgain; again++)
          turn = await turnOf(scratch, training, server, seconds)
        found[name].push(turn)
        const told = await watchers?.close()
        if (told && name === 'browsers') asked.push([...told])
        if (told) rates[/** @type {'clients'} */ (name)] += rateOf(told) / rounds
      }
    }
    const alone = [...found.alone, ...found.again]
    const count = alone.reduce((sum, turn) => sum + turn.count, 0)
    row('an iteration alone', `${(1000 * middle(alone.map(turn => turn.iteration))).toFixed(1)} ms (${count} of them)`)
    const most = Math.max(...Object.values(found).flatMap(turns => turns.map(turn => turn.others)))
    row('turns done again; cores of other programs, most', `${again}; ${most.toFixed(2)}`)
    row('noise: slowed by nothing', slowed(found.again, found.alone, found.alone))
    if (browser) row('slowed with five browsers here, nice 19', slowed(found.browsers, found.alone, found.again))
    row('slowed with five clients (limit 1 %)', slowed(found.clients, found.alone, found.again))
    if (browser)
      row('processor time of the training, browsers', slowed(found.browsers, found.alone, found.again, 'cpu'))
    row('processor time of the training, clients', slowed(found.clients, found.alone, found.again, 'cpu'))
    row('questions in a second, clients', rates.clients.toFixed(1))
    if (browser) row('questions in a second, browsers', rates.browsers.toFixed(1))
    for (const [name, turns] of Object.entries(found))
      if (turns.length > 0) row(`cores of the server, ${name}`, middle(turns.map(turn => turn.server)).toFixed(3))
    if (rates.clients < rates.browsers)
      throw new Error('The clients asked less than the browsers: the figures do not compare.')
  } finally {
    await browser?.close()
    training.kill('SIGKILL')
    server.child.kill()
  }
}

/**
 * A training that leaves a core to rewards, the server and the pages, and whose iterations stay alike: its weights hardly move.
 *
 * @param {string} scratch
 * @param {readonly string[]} within
 */
function train(scratch, within) {
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
  const steady = ['--iterations', '1000000', '--save-steps', '1000000', '--set', 'optimizer.lr=1e-9']
  const env = { ...process.env, OMP_NUM_THREADS: process.env.OMP_NUM_THREADS ?? '1' }
  return startWhetstone(['grpo', ...files, ...size, ...steady, '--output', at('live')], { within, env })
}

/** The clients are threads of this process: each has the lowest priority, as browsers have. */
function giveWay() {
  const threads = existsSync('/proc/self/task') ? readdirSync('/proc/self/task').map(Number) : []
  for (const id of [process.pid, ...threads]) setPriority(id, 19)
}

/**
 * Undefined where there is no Chromium.
 *
 * @param {string} scratch
 * @param {readonly string[]} within
 */
async function launch(scratch, within) {
  if (!chromiumPath) {
    console.log('There is no Chromium here (WHETSTONE_CHROMIUM names one): five clients stand for five browsers.')
    return undefined
  }
  const { chromium } = await import('playwright-core')
  const executablePath = join(scratch, 'chromium')
  const command = [...within, 'nice', '-n', '19', chromiumPath].map(part => `'${part}'`).join(' ')
  // The browser has a session of its own; where Linux shares time between sessions first, the priority is that of the session.
  const lowest = 'if [ -w /proc/self/autogroup ]; then echo 19 > /proc/self/autogroup; fi'
  writeFileSync(executablePath, `#!/bin/sh\n${lowest}\nexec ${command} "$@"\n`, { mode: 0o755 })
  return await chromium.launch({ executablePath, args: chromiumArguments })
}

/**
 * Five pages, each signed in by itself, with its own cookies and connections.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {Server} server
 * @returns {Watchers}
 */
function openPages(browser, server) {
  const opened = Promise.all(views.map(view => openPage(browser, server, view)))
  let began = 0
  const settled = opened.then(pages => {
    began = performance.now()
    for (const { asked } of pages) asked.clear()
  })
  return {
    settled: settled,
    async close() {
      const took = (performance.now() - began) / 1000
      const pages = await opened
      const rates = pages.map(({ asked }) => new Map([...asked].map(([path, times]) => [path, times / took])))
      for (const { page, view, step } of pages) {
        // On a busy machine the lowest priority may mean later.
        for (let tries = 0; (await stepOf(page)) === step; tries++) {
          if (tries === 300) throw new Error(`The page of ${view} does not follow the run.`)
          await pause(100)
        }
        await page.context().close()
      }
      return rates
    },
  }
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {Server} server
 * @param {string} view
 */
async function openPage(browser, { url, token }, view) {
  const page = await (await browser.newContext()).newPage()
  /** @type {Map<string, number>} */
  const asked = new Map()
  page.on('request', request => {
    const path = request.url().slice(url.length)
    if (path.startsWith('/api/') && !path.startsWith('/api/events')) asked.set(path, (asked.get(path) ?? 0) + 1)
  })
  await page.goto(`${url}/#token=${token}`)
  await page.locator('table a').first().waitFor()
  await page.goto(`${url}/#/run/live/${view}`)
  const shown = view === 'samples' ? 'td.text' : view === 'stages' ? '.stage-bar' : 'main canvas'
  await page.locator(shown).first().waitFor()
  return { page, view, asked, step: await stepOf(page) }
}

/** @param {import('playwright-core').Page} page */
async function stepOf(page) {
  return Number(/step (\d+)/.exec((await page.textContent('header')) ?? '')?.[1])
}

/**
 * Five clients that listen, and ask a little more often than the pages did.
 *
 * @param {Server} server
 * @param {readonly Asked[]} pages
 * @returns {Watchers}
 */
function openClients(server, pages) {
  const closed = new AbortController()
  const { signal } = closed
  const headers = { authorization: `Bearer ${server.token}` }
  const began = performance.now()
  const asked = pages.map(() => new Map())
  const work = pages.flatMap((questions, place) => [
    fetch(`${server.url}/api/events?run=live`, { headers, signal }).then(async ({ body }) => {
      for await (const _ of /** @type {AsyncIterable<Uint8Array>} */ (body)) if (signal.aborted) return
    }),
    ...[...questions].map(async ([path, perSecond]) => {
      for (let due = performance.now(); !signal.aborted; due += 1000 / (1.1 * perSecond)) {
        await pause(due - performance.now())
        await get(server, path, signal)
        asked[place].set(path, (asked[place].get(path) ?? 0) + 1)
      }
    }),
  ])
  const ended = Promise.allSettled(work)
  return {
    settled: Promise.resolve(),
    async close() {
      const took = (performance.now() - began) / 1000
      const rates = asked.map(times => new Map([...times].map(([path, count]) => [path, count / took])))
      closed.abort()
      for (const end of await ended)
        if (end.status === 'rejected' && end.reason?.name !== 'AbortError') throw end.reason
      return rates
    },
  }
}

/**
 * Of each page every path, as often as it was asked for in the turn that asked most.
 *
 * @param {readonly (readonly Asked[])[]} turns
 * @returns {readonly Asked[]}
 */
function mostAsked(turns) {
  return views.map((_, place) => {
    /** @type {Map<string, number>} */
    const most = new Map()
    for (const pages of turns)
      for (const [path, perSecond] of pages[place]) most.set(path, Math.max(perSecond, most.get(path) ?? 0))
    return most
  })
}

/** @returns {readonly Asked[]} */
function usualAsked() {
  return usual.map(paths => new Map(paths.map(path => [`/api/runs/live${path}`, 1])))
}

/** @param {readonly Asked[]} pages */
function rateOf(pages) {
  return pages.flatMap(page => [...page.values()]).reduce((sum, perSecond) => sum + perSecond, 0)
}

/**
 * @param {string} scratch
 * @param {import('node:child_process').ChildProcess} training
 * @param {Server} server
 * @param {number} seconds
 * @returns {Promise<Turn>}
 */
async function turnOf(scratch, training, server, seconds) {
  const before = linesOf(scratch).length
  const read = () => [processorSeconds(training), processorSeconds(server.child), otherSeconds()]
  const began = read()
  await pause(1000 * seconds)
  const [used, served, others] = read().map((value, i) => (value - began[i]) / seconds)
  const times = linesOf(scratch).slice(Math.max(0, before - 1))
  const count = times.length - 1
  const took = (times[count] - times[0]) / 1000
  // Processor time of the whole turn, over the iterations that fit in it.
  return { iteration: took / count, cpu: used * (took / count), count, server: served, others }
}

/**
 * When each iteration was logged, in milliseconds.
 *
 * @param {string} scratch
 * @returns {number[]}
 */
function linesOf(scratch) {
  const path = join(scratch, 'live/logs/metrics.jsonl')
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines
    .map(line => JSON.parse(line))
    .flatMap(({ time, values }) => (values['seconds/total'] ? Date.parse(time) : []))
}

/**
 * Of all threads of a process and of its children that ended, as Linux counts it: in hundredths.
 *
 * @param {import('node:child_process').ChildProcess} child
 */
function processorSeconds({ pid = 0 }) {
  return statOf(pid)?.seconds ?? Number.NaN
}

/** @param {number | string} pid */
function statOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { parent: Number(fields[1]), seconds: ticks / 100 }
  } catch {
    return undefined
  }
}

/** Processor time of all that this bench did not start; not a number where it is not known. */
function otherSeconds() {
  if (!existsSync('/proc/stat')) return Number.NaN
  const [user, nice, system, , , irq, soft] = readFileSync('/proc/stat', 'utf8').split(/\s+/).slice(1, 8).map(Number)
  const all = new Map(
    readdirSync('/proc').flatMap(name => {
      const stat = /^\d+$/.test(name) ? statOf(name) : undefined
      return stat ? [/** @type {const} */ ([Number(name), stat])] : []
    }),
  )
  /** @type {(pid: number) => boolean} */
  const isOwn = pid => pid === process.pid || (all.has(pid) && isOwn(all.get(pid)?.parent ?? 0))
  let own = 0
  for (const [pid, stat] of all) if (isOwn(pid)) own += stat.seconds
  return (user + nice + system + irq + soft) / 100 - own
}

/**
 * The mean of the middle half of them: what disturbed one turn does not count.
 *
 * @param {readonly number[]} values
 */
function middle(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const cut = Math.floor(sorted.length / 4)
  const half = sorted.slice(cut, sorted.length - cut)
  return half.reduce((sum, value) => sum + value, 0) / half.length
}

/**
 * The middle over rounds of how much longer a turn's iterations took than those of the two turns alone of its round, with what it
 * would be for other rounds of the same kind: 95 % of a thousand draws.
 *
 * @param {readonly Turn[]} watched
 * @param {readonly Turn[]} one
 * @param {readonly Turn[]} other
 * @param {'iteration' | 'cpu'} of
 */
function slowed(watched, one, other, of = 'iteration') {
  const ratios = watched.map((turn, round) => turn[of] / ((one[round][of] + other[round][of]) / 2))
  let seed = 1
  const draws = Array.from({ length: 1000 }, () =>
    middle(
      ratios.map(() => {
        seed = (seed * 48271) % 2147483647
        return ratios[seed % ratios.length]
      }),
    ),
  ).sort((a, b) => a - b)
  const [found, low, high] = [middle(ratios), draws[25], draws[974]].map(ratio => (100 * (ratio - 1)).toFixed(2))
  return `${found} % (95 %: ${low} to ${high})`
}
