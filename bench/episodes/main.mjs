/**
 * Episodes on the CPU: eight turns with the KV cache of a session kept and without, 256 episodes at once whose environment takes 50 ms a
 * turn, and what a turn costs besides the model.
 *
 *   npm run bench:episodes [-- --check] [--only turns,idle,control]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { defineEnvironment } from 'whetstone/environment'
import { FastExperienceMaker } from 'whetstone/experience'
import { LocalModel, newConfig, sizes } from 'whetstone/model'
import { LocalEngine } from 'whetstone/rollout'
import { Tokenizer } from 'whetstone/text'
import { makeTokenizer } from '../experience/world.mjs'
import { printTable } from '../harness.mjs'

const { values: options } = parseArgs({ options: { check: { type: 'boolean' }, only: { type: 'string' } } })
const only = options.only?.split(',')
const vocabSize = 4096
const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-'))
await makeTokenizer(join(scratch, 'tokenizer'), vocabSize)
writeFileSync(
  join(scratch, 'tokenizer/chat_template.jinja'),
  '{% for message in messages %}{{ message.role }}: {{ message.content }}<|end|>{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}',
)
const tokenizer = await Tokenizer.load(join(scratch, 'tokenizer'))
const config = newConfig('qwen2', { ...sizes['2m'], context: 4096, vocabSize }, { eos: tokenizer.eosId })
const actor = await LocalModel.create(config, { role: 'language', seed: 1 })

/**
 * Answers every turn with a text; each turn takes some milliseconds.
 *
 * @param {{ turns: number, words: number, milliseconds: number }} given
 */
const talk = ({ turns, words, milliseconds }) =>
  defineEnvironment({
    name: 'talk',
    version: '1',
    open: async () => ({
      start: async () => [{ role: 'user', content: 'word '.repeat(words) }],
      step: async ({ turn }) => {
        if (milliseconds > 0) await delay(milliseconds)
        if (turn + 1 === turns) return { kind: 'done' }
        return { kind: 'go-on', messages: [{ role: 'user', content: 'word '.repeat(words) }] }
      },
      score: async () => 1,
    }),
  })

/**
 * @param {import('whetstone/rollout').Generator} generator
 * @param {{ prompts: number, turns: number, words: number, milliseconds?: number, turnTokens?: number, concurrency?: number }} given
 */
async function episodes(generator, given) {
  const { prompts, turns, words, milliseconds = 0, turnTokens = 16, concurrency = 256 } = given
  const maker = new FastExperienceMaker({
    actor,
    tokenizer,
    generator,
    environment: talk({ turns, words, milliseconds }),
    episode: { turns, turnTokens, concurrency },
    advantageEstimator: 'reinforce',
    maxNewTokens: turns * turnTokens + 1,
    seed: 1,
  })
  const rows = Array.from({ length: prompts }, (_, i) => ({ prompt: `${i}` }))
  const before = process.cpuUsage()
  const started = performance.now()
  const { groups } = await maker.generateSamples(rows)
  const seconds = (performance.now() - started) / 1000
  const used = process.cpuUsage(before)
  const made = groups.flat()
  const done = made.reduce((sum, { turns: own = [] }) => sum + own.length, 0)
  const ids = made.map(({ sequence }) => Array.from(sequence.ids).join()).join('\n')
  return { seconds, turns: done, cpuMs: (used.user + used.system) / 1000 / done, ids, episodes: made.length }
}

/** The same engine without sessions. @param {LocalEngine} engine @returns {import('whetstone/rollout').Generator} */
const withoutSessions = engine =>
  new Proxy(engine, {
    get(target, name) {
      if (name === 'generate')
        /** @param {AsyncIterable<import('whetstone/rollout').GenerationRequest>} requests @param {object} more */
        return (requests, more) =>
          target.generate(
            (async function* () {
              for await (const { session: _, ...request } of requests) yield request
            })(),
            more,
          )
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

async function compareTurns() {
  const rows = []
  for (const words of [32, 64]) {
    const given = { prompts: 16, turns: 8, words }
    const kept = new LocalEngine(actor, { tokenizer })
    const one = await episodes(kept, given)
    const prefilled = kept.counts.promptTokens
    await kept.close()
    const none = new LocalEngine(actor, { tokenizer })
    const other = await episodes(withoutSessions(none), given)
    const whole = none.counts.promptTokens
    await none.close()
    if (one.ids !== other.ids) throw new Error('the samples differ with and without sessions')
    const counts = [String(prefilled), String(whole)]
    const times = [one.seconds.toFixed(2), other.seconds.toFixed(2), (other.seconds / one.seconds).toFixed(2)]
    rows.push({ name: `${words} words a turn, 16 episodes`, cells: [...counts, ...times], targets: [] })
  }
  printTable(['8 turns', 'prefilled, kept', 'prefilled, none', 'seconds, kept', 'seconds, none', 'ratio'], rows)
}

async function idleShare() {
  const engine = new LocalEngine(actor, { tokenizer })
  let [looks, idle] = [0, 0]
  let over = false
  const watching = (async () => {
    while (!over) {
      const { running, waiting } = engine.counts
      looks++
      if (running + waiting === 0) idle++
      await delay(5)
    }
  })()
  const made = await episodes(engine, { prompts: 256, turns: 4, words: 16, milliseconds: 50 })
  over = true
  await watching
  await engine.close()
  const share = idle / looks
  const text = `engine idle ${(100 * share).toFixed(1)} % < 10 %`
  const cells = [made.seconds.toFixed(2), (made.turns / made.seconds).toFixed(0), `${(100 * share).toFixed(1)} %`]
  const name = `${made.episodes} episodes, ${made.turns} turns`
  return printTable(
    ['256 episodes at once, 50 ms a turn', 'seconds', 'turns/s', 'engine idle'],
    [{ name, cells, targets: [{ text, holds: share < 0.1 }] }],
  )
}

/** An engine that answers at once, so that all that is left is the runner. @returns {import('whetstone/rollout').Generator} */
function instantEngine() {
  const end = tokenizer.eosId ?? 0
  const responseIds = Int32Array.from([...Array(15).fill(300), end])
  const raw = new Float32Array(16).fill(-1)
  const engine = {
    capabilities: {
      logprobs: ['raw'],
      topLogprobs: 0,
      promptLogprobs: false,
      text: false,
      tokens: false,
      media: false,
      structured: [],
      sleep: false,
      weights: ['shared'],
    },
    counts: { running: 0, waiting: 0, promptTokens: 0, generatedTokens: 0 },
    maxLength: 4096,
    vocabSize,
    policyVersion: 0,
    /** @param {AsyncIterable<import('whetstone/rollout').GenerationRequest>} requests */
    async *generate(requests) {
      for await (const { id: requestId, promptId, promptIds, firstSample: sample = 0 } of requests)
        yield {
          kind: 'completed',
          ...{ requestId, promptId: promptId ?? requestId, sample, seed: 1, promptIds, responseIds, logprobs: { raw } },
          ...{ finishReason: 'stop', policyVersion: 0, versions: [{ version: 0, start: 0, end: 16 }] },
        }
    },
    abort() {},
    abortAll() {},
    resume() {},
    async pause() {},
    async updateWeights() {},
    async sleep() {},
    async wake() {},
    async close() {},
  }
  return /** @type {import('whetstone/rollout').Generator} */ (/** @type {unknown} */ (engine))
}

async function controlPlane() {
  await episodes(instantEngine(), { prompts: 32, turns: 8, words: 64 })
  const rows = []
  for (const turns of [2, 8]) {
    const made = await episodes(instantEngine(), { prompts: 256, turns, words: 64 })
    const name = `256 episodes of ${turns} turns, 64 words each`
    rows.push({ name, cells: [String(made.turns), made.cpuMs.toFixed(2)], targets: [] })
  }
  printTable(['without a model', 'turns', 'CPU ms a turn'], rows)
}

let met = true
if (!only || only.includes('turns')) await compareTurns()
if (!only || only.includes('idle')) met = (await idleShare()) && met
if (!only || only.includes('control')) await controlPlane()
actor.dispose()
rmSync(scratch, { recursive: true, force: true })
if (options.check && !met) process.exit(1)
