/**
 * Generation on the device: its kernels against their references in float64 and the CPU's own sampling, and the engine against
 * recorded continuations and `score`.
 */
import { readFileSync } from 'node:fs'
import { LocalModel, parseConfig } from '../../dist/model/index.js'
import { LocalEngine } from '../../dist/rollout/local/engine.js'
import {
  backend,
  callOperator,
  fusedOps,
  linear,
  manualSeed,
  memoryUse,
  randn,
  randperm,
  scope,
  synchronize,
  Tensor,
} from '../../dist/tensor/index.js'
import { headLinearFits, headLinearKernel } from '../../dist/kernels/head-linear.js'
import { decodeAttentionKernel, pagedRopeKernel } from '../../dist/kernels/paged-attention.js'
import {
  decodeAttentionReference,
  pagedRopeReference,
  slotOf,
} from '../../dist/kernels/paged-attention-reference.js'
import { sampleKernel, samplePlanes } from '../../dist/kernels/sample.js'
import { splitKLinearKernel } from '../../dist/kernels/split-k-linear.js'
import { Checks } from './checks.mjs'

const device = 'cuda'
const tolerance = { float16: 2e-3, bfloat16: 1.5e-2 }
const fixture = name => new URL(`../../test/fixtures/models/${name}`, import.meta.url).pathname
const golden = name => JSON.parse(readFileSync(`${fixture(name)}/case.json`, 'utf8'))
const ints = values => Tensor.from(Int32Array.from(values), { device })

function relativeError(found, exact) {
  return scope(() => found.to('cpu', 'float64').sub(exact).norm().item() / Math.max(exact.norm().item(), 1e-300))
}

/** Numbers that look random and are the same every time. */
function numbers(seed) {
  let state = seed >>> 0
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** @param {Checks} checks */
async function attention(checks, dtype) {
  for (const [heads, kvHeads, headDim, splits, warps, positions] of [
    [14, 2, 64, 1, 4, [0, 15, 16, 17, 127, 128, 255, -1, 3]],
    [14, 2, 64, 1, 8, [200, 0, 31, 999]],
    [14, 2, 64, 4, 4, [0, 5, 63, 64, 700, -1, 1023]],
    [14, 2, 64, 16, 8, [4095, 12]],
    [4, 2, 16, 1, 4, [40, 1, 15]],
    [4, 2, 32, 2, 8, [40, 1, 300]],
    [16, 8, 128, 1, 8, [77, 190]],
    [32, 2, 128, 1, 4, [33, 500]],
    [40, 2, 64, 2, 4, [33, 500]],
    [4, 4, 96, 1, 4, [33, 50]],
  ]) {
    const shape = { heads, kvHeads, headDim }
    const name = `attention ${dtype} ${heads}/${kvHeads}x${headDim}, ${splits} splits, ${warps} warps`
    // biome-ignore format: steps of one check
    await checks.try(name, async () => {
      const rows = positions.length
      const width = Math.max(...positions.map(p => Math.floor(p / 16) + 1))
      const total = rows * width + 3
      const order = randperm(total, { dtype: 'int32' }).toArray()
      const blockTable = positions.map((_, row) => Array.from(order.slice(row * width, (row + 1) * width)))
      const qkv = randn([rows, (heads + 2 * kvHeads) * headDim], { device }).cast(dtype)
      const angles = randn([Math.max(...positions) + 1, headDim / 2])
      const tables = { cos: angles.cos().to(device), sin: angles.sin().to(device) }
      const exactTables = { cos: angles.cos().cast('float64'), sin: angles.sin().cast('float64') }
      const make = () => randn([total, kvHeads, 16, headDim], { device }).cast(dtype)
      const filled = { keys: make(), values: make() }
      const slotMapping = positions.map((position, row) => (position < 0 ? -1 : slotOf(blockTable[row], position)))
      // What lies behind a sequence's end may be anything.
      for (const [row, position] of positions.entries()) {
        if (position < 0) continue
        for (const cache of [filled.keys, filled.values])
          for (let p = position + 1; p < (Math.floor(position / 16) + 1) * 16; p++)
            cache.select(0, Math.floor(slotOf(blockTable[row], p) / 16)).select(1, p % 16).fill_(Number.NaN)
      }
      const rowsOf = { count: rows, positions: ints(positions), sequences: null, blockTable: ints(blockTable.flat()), width: ints([width]) }
      const real = Int32Array.from(positions, p => Math.max(p, 0))
      const turnedExact = pagedRopeReference(qkv.to('cpu', 'float64'), exactTables, real, shape)

      // Turned and stored by one kernel, then read by the other; and all in one.
      const caches = [0, 1].map(() => ({ keys: filled.keys.clone(), values: filled.values.clone() }))
      const turned = qkv.clone()
      pagedRopeKernel(dtype, shape)(turned, tables, rowsOf, ints(slotMapping), caches[0])
      const apart = decodeAttentionKernel(dtype, shape, { splits, warps, fused: false })(turned, tables, rowsOf, caches[0])
      const together = decodeAttentionKernel(dtype, shape, { splits, warps, fused: true })(qkv, tables, rowsOf, caches[1])
      await synchronize()
      const there = positions.flatMap((p, i) => (p < 0 ? [] : [i]))
      const only = x => x.indexSelect(0, Tensor.from(Int32Array.from(there), { device: x.device }))
      const error = relativeError(only(turned), only(turnedExact))
      checks.is(`${name}: rope`, error < tolerance[dtype], String(error))
      const same = (a, b) => a.nanToNum(7).equal(b.nanToNum(7))
      checks.is(`${name}: both store the same`, same(caches[0].keys, caches[1].keys) && same(caches[0].values, caches[1].values))
      const wide = { keys: caches[0].keys.to('cpu', 'float64'), values: caches[0].values.to('cpu', 'float64') }
      const exact = decodeAttentionReference(only(turned.to('cpu', 'float64')), Int32Array.from(there, i => positions[i]), there.map(i => blockTable[i]), wide, shape)
      for (const [kind, found] of Object.entries({ apart, together })) {
        const off = relativeError(only(found), exact)
        checks.is(`${name}: ${kind}`, off < tolerance[dtype], String(off))
      }
      const missing = positions.indexOf(-1)
      if (missing >= 0) checks.is(`${name}: a row that is not there is zero`, together.select(0, missing).abs().cast('float32').amax([0]).item() === 0)
    })
  }
}

/** @param {Checks} checks */
async function splitKLinear(checks, dtype) {
  const exactOps = fusedOps({ device: 'cpu', dtype: 'float64' })
  for (const [rows, hidden, intermediate, parts, biased] of [
    [64, 896, 4864, 8, false],
    [1, 896, 896, 4, true],
    [257, 896, 4864, 4, false],
    [7, 4096, 2048, 2, true],
  ]) {
    const name = `split linear ${dtype} ${rows}x${intermediate}x${hidden} in ${parts}`
    await checks.try(name, async () => {
      const make = (...shape) => scope(() => randn(shape, { device }).cast(dtype))
      const weight = scope(() => randn([hidden, intermediate], { device }).div(Math.sqrt(intermediate)).cast(dtype))
      const [x, residual, norm] = [make(rows, intermediate), make(rows, hidden), make(hidden)]
      const bias = biased ? make(hidden) : null
      const found = splitKLinearKernel(dtype, hidden, parts)(rows, x, weight, bias, residual, norm, 1e-6)
      await synchronize()
      const wide = tensor => tensor.to('cpu', 'float64')
      const product = linear(wide(x), wide(weight), bias && wide(bias))
      const exact = exactOps.addRmsNorm(product, wide(residual), wide(norm), 1e-6)
      for (const [i, part] of ['norm', 'sum'].entries()) {
        const error = relativeError(found[i], exact[i])
        checks.is(`${name}: ${part}`, error < tolerance[dtype], String(error))
      }
    })
  }
}

/** @param {Checks} checks */
async function sampling(checks, dtype) {
  const next = numbers(3)
  for (const [rows, vocabSize, spread] of [
    [64, 320, 2],
    [64, 32001, 3],
    [256, 151936, 2],
    [16, 151936, 0.01],
    [64, 151936, 12],
    [64, 1000, 12],
  ]) {
    // biome-ignore format: steps of one check
    for (const kind of ['plain', 'temperature', 'forbidden', 'filtered', 'targetIds', 'broken']) {
      const name = `sample ${dtype} ${rows}x${vocabSize} spread ${spread} ${kind}`
      await checks.try(name, async () => {
        const logits = randn([rows, vocabSize], { device }).mul(spread).cast(dtype)
        if (kind === 'broken') {
          logits.select(0, 1).select(0, 5).fill_(Number.NaN)
          logits.select(0, 2).select(0, vocabSize - 1).fill_(Number.POSITIVE_INFINITY)
          logits.select(0, 3).fill_(Number.NEGATIVE_INFINITY)
          logits.select(0, 4).select(0, 7).fill_(Number.NEGATIVE_INFINITY)
        }
        // The best ones side by side, which is where the least is looked for last.
        if (kind === 'filtered') for (const row of [9, 11]) logits.select(0, row).narrow(0, 70, 200).add_(12)
        const settings = Float64Array.from({ length: rows * 4 }, (_, i) => {
          const row = i >> 2
          const filtered = kind === 'filtered'
          if (i % 4 === 0) return kind === 'plain' || kind === 'targetIds' ? 1 : row % 5 === 0 ? 0 : [1, 0.7, 1.3][row % 3]
          if (i % 4 === 1) return filtered && row % 2 ? 1 + next(60) : -1
          if (i % 4 === 2) return filtered && row % 3 ? 0.3 + next(60) / 100 : 1
          return filtered && row % 4 === 0 ? 0.05 : 0
        })
        const streams = Int32Array.from({ length: rows * 3 }, (_, i) => (i % 3 === 2 ? next(1000) : next(2 ** 32) | 0))
        const targetIds = Int32Array.from({ length: rows }, () => (kind === 'targetIds' ? next(vocabSize) : -1))
        const offsets = new Int32Array(rows + 1)
        const forbidden = []
        // Among them the likeliest, which matters.
        const best = logits.argmax(1).to('cpu', 'int32').toArray()
        for (let row = 0; row < rows; row++) {
          const ids = kind === 'forbidden' || (kind === 'filtered' && row % 7 === 0) ? [best[row], next(vocabSize), next(vocabSize)] : []
          // Some as many as a vocabulary has that are not text, side by side.
          if (ids.length > 0 && row % 14 === 7) ids.push(...Array.from({ length: 300 }, (_, i) => i))
          forbidden.push(...ids.sort((a, b) => a - b))
          offsets[row + 1] = forbidden.length
        }
        const cpu = array => Tensor.from(array)
        const top = { plain: 5, filtered: 2, targetIds: 0, broken: 1 }[kind] ?? -1
        const [ids, logprobs, likeliest, theirs] = callOperator(
          'whetstone::sample',
          logits.to('cpu', 'float32'), Tensor.from(settings, { shape: [rows, 4] }), cpu(streams), cpu(targetIds), cpu(offsets), cpu(Int32Array.from(forbidden)), top,
        )
        const [expected, both] = [ids.toArray(), logprobs.toArray()]
        const results = Tensor.empty([samplePlanes(top), rows], { dtype: 'int32', device })
        results.fill_(-7)
        const up = array => Tensor.from(array, { device })
        const sampled = {
          count: rows,
          positions: up(Int32Array.from({ length: rows }, (_, i) => streams[3 * i + 2])),
          settings: up(Float32Array.from(settings)),
          keys: up(Int32Array.from({ length: 2 * rows }, (_, i) => streams[(i >> 1) * 3 + (i & 1)])),
          targetIds: up(targetIds),
          forbiddenOffsets: up(offsets),
          forbidden: up(Int32Array.from(forbidden.length ? forbidden : [0])),
        }
        sampleKernel(dtype, vocabSize)(logits, sampled, results, { filtered: kind === 'filtered', steps: undefined, top })
        await synchronize()
        const found = results.to('cpu').toArray()
        const floats = new Float32Array(found.buffer)
        const [expectedTop, expectedLogprobs] = [likeliest.toArray(), theirs.toArray()]
        let other = 0
        let worst = 0
        let likely = 0
        for (let row = 0; row < rows; row++) {
          if (found[row] !== expected[row]) other++
          else if (found[row] >= 0) {
            for (const [at, value] of [[rows + row, both[row]], [2 * rows + row, both[rows + row]]]) {
              const off = Object.is(floats[at], value) ? 0 : Math.abs(floats[at] - value)
              worst = Math.max(worst, Number.isNaN(off) ? Infinity : off)
            }
            for (let k = 0; k <= top; k++) {
              const at = row * (top + 1) + k
              if (found[(3 + k) * rows + row] !== expectedTop[at]) likely++
              if (k > 0) worst = Math.max(worst, Math.abs(floats[(3 + top + k) * rows + row] - expectedLogprobs[at]))
            }
          }
        }
        // A number that falls onto the border between two tokens may be rounded to either side.
        checks.is(`${name}: tokens`, other <= (kind === 'broken' ? 0 : rows * 0.02), `${other} of ${rows} differ: ${[...found.slice(0, 8)]} for ${[...expected.slice(0, 8)]}`)
        checks.is(`${name}: log-probabilities`, worst < 2e-5, String(worst))
        if (top >= 0) checks.is(`${name}: ranks and likeliest tokens`, likely === 0, `${likely} differ`)
      })
    }
  }
}

/**
 * Logits and their sums from one kernel: the logits are the product's, and tokens drawn by these sums are those drawn by the
 * sums that the sampling kernels make themselves. Some rows are greedy, some have tokens that cannot be drawn, some are not
 * there, and one is not finite.
 *
 * @param {Checks} checks
 */
async function heads(checks) {
  const { capability, multiprocessors } = backend().cuda.devices[0]
  if (!headLinearFits(256, { hidden: 64, vocabSize: 320 }, 'bfloat16', { capability })) {
    console.log(`logits with their sums are for compute capability 9.0, not ${capability}: not checked`)
    return
  }
  const next = numbers(4)
  const kernel = headLinearKernel(multiprocessors)
  for (const [rows, vocabSize, hidden] of [
    [1, 320, 64],
    [64, 320, 128],
    [3, 32000, 72],
    [300, 1000, 64],
    [64, 151936, 896],
    [256, 151936, 896],
  ]) {
    const name = `head of ${rows}x${vocabSize}, ${hidden} wide`
    await checks.try(name, async () => {
      const up = array => Tensor.from(array, { device })
      const x = randn([rows, hidden], { device }).cast('bfloat16')
      const weight = randn([vocabSize, hidden], { device }).mul(0.1).cast('bfloat16')
      if (rows > 8) x.select(0, 7).fill_(Number.NaN)
      const exact = linear(x, weight)
      const best = exact.argmax(1).to('cpu', 'int32').toArray()
      const forbidden = []
      const offsets = new Int32Array(rows + 1)
      for (let row = 0; row < rows; row++) {
        if (row % 3 === 1) forbidden.push(...[best[row], next(vocabSize)].sort((a, b) => a - b))
        offsets[row + 1] = forbidden.length
      }
      const words = count => up(Int32Array.from({ length: count }, () => next(2 ** 32) | 0))
      const sampled = {
        count: rows,
        positions: up(Int32Array.from({ length: rows }, (_, i) => (i % 11 === 5 ? -1 : next(1000)))),
        settings: up(
          Float32Array.from({ length: 4 * rows }, (_, i) => [[1, 0.7, 1, 0][(i >> 2) % 4], -1, 1, 0][i % 4]),
        ),
        keys: words(2 * rows),
        targetIds: up(new Int32Array(rows).fill(-1)),
        forbiddenOffsets: up(offsets),
        forbidden: up(Int32Array.from([...forbidden, 0])),
      }
      const { logits, sums } = kernel(x, weight, sampled)
      const there = Array.from({ length: rows }, (_, i) => i).filter(i => i % 11 !== 5 && !(rows > 8 && i === 7))
      const [a, b] = [logits, exact].map(t => t.indexSelect(0, up(Int32Array.from(there))).cast('float32'))
      const off = a.sub(b).abs().amax().item() / b.abs().amax().item()
      checks.is(`${name}: logits`, off < 0.01, String(off))
      const sample = sampleKernel('bfloat16', vocabSize)
      const samplingRow = async (options, settings = sampled.settings) => {
        const results = Tensor.empty([3, rows], { dtype: 'int32', device }).fill_(-7)
        sample(logits, { ...sampled, settings }, results, { filtered: false, steps: undefined, top: -1, ...options })
        await synchronize()
        return results.to('cpu').toArray()
      }
      // Rows without filters are drawn as if none had any.
      const filters = up(
        Float32Array.from({ length: 4 * rows }, (_, i) => {
          const row = i >> 2
          return [[1, 0.7, 1, 0][row % 4], row % 4 === 0 ? 50 : -1, row % 4 === 1 ? 0.9 : 1, 0][i % 4]
        }),
      )
      const compare = (kind, found, expected, rowsOf) => {
        const [floats, wanted] = [found, expected].map(array => new Float32Array(array.buffer))
        const others = rowsOf.filter(i => found[i] !== expected[i])
        checks.is(`${name}: ${kind}tokens`, others.length <= rows * 0.01, `${others.length} of ${rows} differ`)
        const worst = Math.max(
          0,
          ...rowsOf
            .filter(i => !others.includes(i) && there.includes(i))
            .flatMap(i => [rows + i, 2 * rows + i].map(at => Math.abs(floats[at] - wanted[at]))),
        )
        checks.is(`${name}: ${kind}log-probabilities`, worst < 2e-5, String(worst))
      }
      const all = Array.from({ length: rows }, (_, i) => i)
      const [found, expected] = [await samplingRow({ known: sums }), await samplingRow({})]
      compare('', found, expected, all)
      const own = await samplingRow({ filtered: true }, filters)
      compare(
        'without filters, ',
        own,
        expected,
        all.filter(i => i % 4 > 1),
      )
      compare('filtered ', await samplingRow({ filtered: true, known: sums }, filters), own, all)
      if (rows > 8) checks.is(`${name}: a row that is not finite`, found[7] === -1)
    })
  }
}

async function collect(engine, requests) {
  const found = new Map()
  for await (const outcome of engine.generate(requests)) {
    if (outcome.kind !== 'completed') throw new Error(JSON.stringify(outcome))
    found.set(`${outcome.requestId}/${outcome.sample}`, outcome)
  }
  return found
}

/** Greedy continuations are the recorded ones, except where two tokens are as good as equal. @param {Checks} checks */
async function greedy(checks, name, dtype) {
  await checks.try(`${name} ${dtype}`, async () => {
    const { sequences, greedy_24: expected } = golden(name)
    const model = await LocalModel.load(fixture(name), { role: 'language', device, dtype })
    const exact = await LocalModel.load(fixture(name), { role: 'language' })
    const engine = new LocalEngine(model, { maxSequences: 8 })
    const requests = sequences.map((ids, i) => ({
      id: `${i}`,
      promptIds: Int32Array.from(ids),
      sampling: { seed: 1, temperature: 0, maxNewTokens: 24 },
    }))
    const found = await collect(engine, requests)
    for (const [i, ids] of sequences.entries()) {
      const { responseIds } = found.get(`${i}/0`)
      const wanted = expected[i].length > 24 ? expected[i].slice(ids.length) : expected[i]
      const at = wanted.findIndex((id, t) => id !== responseIds[t])
      if (at < 0) {
        checks.is(`${name} ${dtype} greedy ${i}`, true)
        continue
      }
      const [logits] = await exact.nextLogits([Int32Array.from([...ids, ...wanted.slice(0, at)])])
      const margin = logits[wanted[at]] - logits[responseIds[at]]
      checks.is(
        `${name} ${dtype} greedy ${i}`,
        margin < (dtype === 'bfloat16' ? 0.1 : 0.02),
        `token ${at}: margin ${margin}`,
      )
    }
    await engine.close()
    exact.dispose()
    model.dispose()
  })
}

/** A fixture, or the layers of a 0.5B Qwen2, a few of them. */
function modelOf(name, dtype, { vocabSize = 2001, ...options } = {}) {
  if (name !== 'wide') return LocalModel.load(fixture(name), { role: 'language', device, dtype, ...options })
  const shape = { hidden_size: 896, intermediate_size: 4864, num_attention_heads: 14, num_key_value_heads: 2 }
  const rest = { num_hidden_layers: 3, vocab_size: vocabSize, max_position_embeddings: 512, tie_word_embeddings: true }
  const config = parseConfig({ architectures: ['Qwen2ForCausalLM'], ...shape, ...rest }, 'config.json')
  return LocalModel.create(config, { role: 'language', seed: 3, device, dtype, ...options })
}

/** Log-probabilities of what was sampled are `score`'s, however it was batched. @param {Checks} checks */
async function scored(checks, name, dtype) {
  const next = numbers(9)
  const requests = Array.from({ length: 12 }, (_, i) => ({
    id: `${i}`,
    promptIds: Int32Array.from({ length: 1 + next(i % 4 === 0 ? 100 : 30) }, () => 3 + next(300)),
    n: 1 + next(4),
    sampling: {
      seed: 4,
      maxNewTokens: 1 + next(60),
      temperature: [1, 0.8][i % 2],
      ...(i % 3 === 0 ? { topK: 20 } : {}),
      ...(i % 5 === 0 ? { minNewTokens: 9, firstTemperature: 2 } : {}),
      ...(i % 6 === 0 ? { topLogprobs: 3, promptLogprobs: 2 } : {}),
      ...(i % 4 === 1 ? { forbiddenIds: [5, 6, 7] } : {}),
    },
  }))
  const allowed = dtype === 'bfloat16' ? 0.15 : 0.03
  for (const [how, { blocks, programs, ...options }] of Object.entries({
    whole: {},
    'without graphs of prompts': { programs: true },
    'in pieces': { tokenBudget: 16, maxSequences: 5 },
    'little memory': { blocks: 14, maxSequences: 16 },
  })) {
    await checks.try(`${name} ${dtype} ${how}`, async () => {
      const model = await modelOf(name, dtype)
      const { layers, kvHeads, headDim } = model.config.decoder
      if (blocks) options.cacheBytes = blocks * layers * 2 * kvHeads * headDim * 16 * 2
      await model.score([Int32Array.of(3, 4)]) // keeps tables
      const before = memoryUse(device).liveTensors
      const engine = new LocalEngine(model, { eosIds: [2], ...options })
      if (programs) engine.device.mixedLimits.rows = 0
      const found = [...(await collect(engine, requests)).values()]
      const sequences = found.map(({ promptIds, responseIds }) => Int32Array.from([...promptIds, ...responseIds]))
      const scores = await model.score(sequences)
      let worst = 0
      for (const [i, { promptIds, logprobs, promptLogprobs, responseIds, topLogprobs, requestId }] of found.entries()) {
        logprobs.raw.forEach((value, t) => {
          worst = Math.max(worst, Math.abs(value - scores[i].logprobs[promptIds.length - 1 + t]))
        })
        promptLogprobs?.logprobs.forEach((value, t) => {
          worst = Math.max(worst, Math.abs(value - scores[i].logprobs[t]))
        })
        const request = requests[Number(requestId)].sampling
        if (topLogprobs)
          checks.is(
            `${how}: likeliest tokens`,
            topLogprobs.length === responseIds.length &&
              topLogprobs.every(
                ({ ids, logprobs: theirs, rank }, t) =>
                  ids.length === 3 &&
                  theirs[0] >= theirs[1] &&
                  theirs[1] >= theirs[2] &&
                  rank >= 1 &&
                  (rank > 3 ? logprobs.raw[t] <= theirs[2] : Math.abs(theirs[rank - 1] - logprobs.raw[t]) < 1e-5),
              ),
          )
        if (request.forbiddenIds) checks.is(`${how}: forbidden`, !responseIds.some(id => id >= 5 && id <= 7))
        if (request.minNewTokens) checks.is(`${how}: at least`, responseIds.length >= Math.min(9, request.maxNewTokens))
      }
      checks.is(`${name} ${dtype} ${how}: log-probabilities are score's`, worst < allowed, String(worst))
      const { usedBlocks, running, waiting, preemptions } = engine.counts
      checks.is(`${name} ${dtype} ${how}: nothing is left`, usedBlocks + running + waiting === 0)
      if (how === 'little memory') checks.is(`${name} ${dtype} ${how}: sequences gave way`, preemptions > 0)
      await engine.sleep()
      await engine.wake()
      const again = await collect(engine, requests)
      const tokens = outcomes => outcomes.reduce((sum, { responseIds }) => sum + responseIds.length, 0)
      checks.is(
        `${name} ${dtype} ${how}: after sleep`,
        Math.abs(tokens([...again.values()]) - tokens(found)) < tokens(found) / 4,
      )
      await engine.close()
      checks.is(
        `${name} ${dtype} ${how}: no tensor is left`,
        memoryUse(device).liveTensors <= before,
        `${before} before, ${memoryUse(device).liveTensors} after`,
      )
      model.dispose()
    })
  }
}

/** How far log-probabilities of what was sampled are from `score`'s, at most. */
async function offScore(model, found) {
  const scores = await model.score(
    found.map(({ promptIds, responseIds }) => Int32Array.from([...promptIds, ...responseIds])),
  )
  let worst = 0
  for (const [i, { promptIds, logprobs }] of found.entries())
    logprobs.raw.forEach((value, t) => {
      worst = Math.max(worst, Math.abs(value - scores[i].logprobs[promptIds.length - 1 + t]))
    })
  return worst
}

/** Far more requests than places: those who wait come into steps of others, of every size. @param {Checks} checks */
async function refilled(checks) {
  await checks.try('places refilled', async () => {
    const model = await modelOf('wide', 'bfloat16', { vocabSize: 2048 })
    const engine = new LocalEngine(model, { maxSequences: 256 })
    const next = numbers(6)
    const requests = Array.from({ length: 500 }, (_, i) => ({
      id: `${i}`,
      promptIds: Int32Array.from({ length: 1 + next(90) }, () => 3 + next(2000)),
      n: i % 7 === 0 ? 3 : 1,
      sampling: { seed: 4, maxNewTokens: 1 + next(70), ignoreEos: true },
    }))
    const found = [...(await collect(engine, requests)).values()]
    const worst = await offScore(model, found)
    checks.is("places refilled: log-probabilities are score's", worst < 0.15, String(worst))
    const right = found.every(
      ({ requestId, responseIds }) => responseIds.length === requests[requestId].sampling.maxNewTokens,
    )
    checks.is('places refilled: all of each response', right)
    await engine.close()
    model.dispose()
  })
}

/**
 * Weights that change under an engine with graphs: a trained adapter, beside the weights and in them; a move to the host and
 * back; a training step on the weights themselves. @param {Checks} checks
 */
async function changed(checks) {
  const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
  const next = numbers(5)
  const requests = Array.from({ length: 40 }, (_, i) => ({
    id: `${i}`,
    promptIds: Int32Array.from({ length: 2 + next(40) }, () => 3 + next(300)),
    sampling: { seed: 4, maxNewTokens: 24 },
  }))
  const given = requests.slice(0, 8).map(({ promptIds }) => promptIds)
  for (const adapter of [{ rank: 8, alpha: 16, dropout: 0, targets, seed: 2 }, undefined])
    await checks.try(`weights that change, ${adapter ? 'with' : 'without'} an adapter`, async () => {
      const model = await modelOf('wide', 'bfloat16', adapter ? { adapter } : {})
      const engine = new LocalEngine(model, { maxSequences: 64 })
      const compare = async how => {
        const found = [...(await collect(engine, requests)).values()]
        const worst = await offScore(model, found)
        checks.is(`weights ${how}, ${adapter ? 'with' : 'without'} an adapter`, worst < 0.15, String(worst))
      }
      const train = async () => {
        for (let i = 0; i < 3; i++) {
          await model.forwardBackward(given, outputs =>
            outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1e-3) })),
          )
          await model.step({ lr: 1e-3 })
        }
      }
      await compare('new')
      await train()
      await compare('trained')
      await engine.pause()
      await model.offload()
      await model.reload()
      engine.resume()
      await compare('moved')
      if (adapter) {
        await model.mergeAdapter()
        await compare('merged')
      }
      await engine.close()
      model.dispose()
    })
}

export async function run() {
  manualSeed(11)
  const checks = new Checks()
  for (const dtype of ['bfloat16', 'float16']) {
    await attention(checks, dtype)
    await splitKLinear(checks, dtype)
    await sampling(checks, dtype)
    for (const name of ['llama', 'llama31rope', 'mistral', 'qwen2', 'qwen3']) await greedy(checks, name, dtype)
  }
  await heads(checks)
  for (const name of ['qwen2', 'qwen3', 'wide']) await scored(checks, name, 'bfloat16')
  await scored(checks, 'llama', 'float16')
  await refilled(checks)
  await changed(checks)
  return { right: checks.report(), kept: true }
}
