/**
 * Models on the device: transformers' recorded numbers in float32, training in bfloat16 through float32 copies, weights moved
 * to the CPU and back; and the two kernels of a model's ends (rope, log-probabilities) against their references in float64.
 */
import { readFileSync } from 'node:fs'
import { LocalModel } from '../../dist/model/index.js'
import {
  AdamW,
  fusedOps,
  gradients,
  manualSeed,
  memoryUse,
  randint,
  randn,
  record,
  scope,
  synchronize,
} from '../../dist/tensor/index.js'
import { Checks } from './checks.mjs'

const fixture = name => new URL(`../../test/fixtures/models/${name}`, import.meta.url).pathname
const golden = name => JSON.parse(readFileSync(`${fixture(name)}/case.json`, 'utf8'))
const tolerance = { float32: 2e-6, float16: 2e-3, bfloat16: 1.5e-2 }

function relativeError(found, exact) {
  return scope(() => found.to('cpu', 'float64').sub(exact).norm().item() / Math.max(exact.norm().item(), 1e-300))
}

/** @param {Checks} checks */
async function rope(checks, dtype) {
  for (const [rows, turned, rest, headDim] of [
    [7, 16, 2, 64],
    [513, 3, 1, 128],
    [5, 4, 0, 32],
    [9, 2, 1, 12],
  ]) {
    // biome-ignore format: shapes
    const name = `rope ${dtype} ${rows}x(${turned}+${rest})x${headDim}`
    await checks.try(name, async () => {
      const whole = randn([rows, (turned + rest) * headDim], { dtype: 'float64' })
        .cast(dtype)
        .cast('float64')
      const angles = randn([rows, headDim / 2])
      const arriving = [
        randn([rows, turned, headDim], { dtype: 'float64' }).cast(dtype),
        randn([rows, rest, headDim], { dtype: 'float64' }).cast(dtype),
      ]
      const run = (device, kind) => {
        const input = whole.to(device, kind)
        input.requiresGrad = true
        const [cos, sin] = [angles.cos(), angles.sin()].map(blockTable =>
          blockTable.to(device, device === 'cpu' ? 'float64' : 'float32'),
        )
        const outputs = fusedOps({ device, dtype: kind }).rope({ turned, rest, headDim })(input, cos, sin)
        const given = arriving.map(gradient => gradient.to(device, kind))
        const loss = outputs[0].mul(given[0]).sum().add(outputs[1].mul(given[1]).sum())
        return [...outputs, gradients([loss], [input])[0]]
      }
      const [exact, found] = [run('cpu', 'float64'), run('cuda', dtype)]
      for (const [i, part] of ['turned', 'rest', 'gradient'].entries())
        if (exact[i].numel > 0)
          checks.is(
            `${name} ${part}`,
            relativeError(found[i], exact[i]) < tolerance[dtype],
            String(relativeError(found[i], exact[i])),
          )
    })
  }
}

/** @param {Checks} checks */
async function logprobs(checks, dtype) {
  for (const [rows, vocabulary, scale] of [
    [5, 320, 1],
    [33, 151936, 1],
    [7, 1003, 0.7],
    [2, 32000, 2],
  ]) {
    // biome-ignore format: shapes
    const name = `logprobs ${dtype} ${rows}x${vocabulary}`
    await checks.try(name, async () => {
      const logits = randn([rows, vocabulary], { dtype: 'float64' }).mul(3).cast(dtype)
      const targets = randint(0, vocabulary, [rows], { dtype: 'int64' })
      const [dl, de] = [randn([rows], { dtype: 'float64' }), randn([rows], { dtype: 'float64' })]
      const run = async (device, kind) => {
        const ops = fusedOps({ device, dtype: kind }).logprobs(vocabulary)
        const program = record(['tensor', 'tensor', 'tensor', 'tensor', 'number'], (x, t, gl, ge, k) => {
          const { logprobs, entropy, normalizer } = ops.score(x, t, k)
          return [
            logprobs,
            entropy,
            ops.gradient_(x.clone(), t, k, { entropy, normalizer }, gl, ge),
            ops.gradient_(x.clone(), t, k, { entropy, normalizer }, gl, null),
          ]
        })
        const wide = device === 'cpu' ? 'float64' : 'float32'
        return program.run(logits.to(device, kind), targets.to(device), dl.to(device, wide), de.to(device, wide), scale)
      }
      const [exact, found] = [await run('cpu', 'float64'), await run('cuda', dtype)]
      const allowed = [1e-5, 1e-5, tolerance[dtype] + 1e-5, tolerance[dtype] + 1e-5]
      for (const [i, part] of ['logprobs', 'entropy', 'gradient', 'gradient without entropy'].entries())
        checks.is(
          `${name} ${part}`,
          relativeError(found[i], exact[i]) < allowed[i],
          String(relativeError(found[i], exact[i])),
        )
    })
  }
}

/** @param {Checks} checks */
async function numbers(checks, name) {
  const { sequences, rows, train } = golden(name)
  const given = sequences.map(ids => Int32Array.from(ids))
  const tokens = given.reduce((sum, ids) => sum + ids.length - 1, 0)
  for (const [dtype, allowed] of [
    ['float32', 1e-3],
    ['bfloat16', 0.1],
  ]) {
    // biome-ignore format: pairs
    await checks.try(`${name} ${dtype}`, async () => {
      const model = await LocalModel.load(fixture(name), { role: 'language', device: 'cuda', dtype, optimizer: { weightDecay: 0.01 } })
      for (const packing of ['on', 'off']) {
        const scored = await model.score(given, { packing })
        const worst = Math.max(...scored.flatMap(({ logprobs }, i) => [...logprobs].map((value, t) => Math.abs(value - rows[i].token_logprobs[t]))))
        checks.is(`${name} ${dtype} log-probabilities, packing ${packing}`, worst < allowed, String(worst))
      }
      for (const [step, expected] of train.losses.entries()) {
        let loss = 0
        await model.forwardBackward(given, outputs =>
          outputs.map(({ logprobs }) => {
            for (const value of logprobs) loss -= value / tokens
            return { logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) }
          }),
        )
        checks.is(`${name} ${dtype} loss ${step}`, Math.abs(loss - expected) < allowed, `${loss} for ${expected}`)
        await model.step({ lr: 1e-3 })
      }
      checks.is(`${name} ${dtype} float32 copies`, [...model.optimizerState().keys()].some(key => key.endsWith('.master')) === (dtype === 'bfloat16'))
      const [before, checksum] = [await model.score(given), await model.checksum()]
      await synchronize()
      const { bytes } = memoryUse('cuda')
      await model.offload()
      checks.is(`${name} ${dtype} offload gives memory back`, memoryUse('cuda').bytes < bytes)
      checks.is(`${name} ${dtype} offloaded weights are the same`, (await model.checksum()) === checksum)
      await model.reload()
      checks.is(`${name} ${dtype} reloaded weights are the same`, JSON.stringify(await model.score(given)) === JSON.stringify(before))
      model.dispose()
    })
  }
}

/** The update of 16-bit parameters by the kernel, against libtorch's fused operator on the float32 copies. @param {Checks} checks */
async function adamw(checks, dtype) {
  const options = { lr: 0.01, betas: [0.9, 0.95], eps: 1e-8, weightDecay: 0.1 }
  for (const count of [1, 7, 8, 4099, 896 * 512]) {
    const start = randn([count], { dtype: 'float64' })
    const parameter = start.to('cuda', dtype)
    const exact = parameter.to('cpu', 'float64')
    for (const tensor of [parameter, exact]) tensor.requiresGrad = true
    const ours = new AdamW([{ parameters: new Map([['w', parameter]]), ...options }])
    const theirs = new AdamW([{ parameters: new Map([['w', exact]]), ...options }])
    for (let step = 0; step < 5; step++) {
      const gradient = randn([count]).cast(dtype)
      parameter.grad = gradient.to('cuda')
      exact.grad = gradient.cast('float64')
      await ours.step({ clipNorm: 0.5 })
      await theirs.step({ clipNorm: 0.5 })
    }
    for (const key of ['exp_avg', 'exp_avg_sq']) {
      const error = relativeError(ours.state().get(`w.${key}`), theirs.state().get(`w.${key}`))
      checks.is(`adamw ${dtype} ${count} ${key}`, error < 1e-5, String(error))
    }
    const copy = relativeError(ours.state().get('w.master'), exact.detach())
    checks.is(`adamw ${dtype} ${count} copy`, copy < 1e-5, String(copy))
    const rounded = relativeError(parameter.detach(), ours.state().get('w.master').to('cpu', dtype).cast('float64'))
    checks.is(`adamw ${dtype} ${count} parameter is its copy, rounded`, rounded === 0, String(rounded))
  }
}

export async function run() {
  manualSeed(5)
  const checks = new Checks()
  for (const dtype of ['float32', 'float16', 'bfloat16']) {
    await rope(checks, dtype)
    await logprobs(checks, dtype)
    if (dtype !== 'float32') await adamw(checks, dtype)
  }
  for (const name of ['llama', 'llama31rope', 'mistral', 'qwen2', 'qwen3']) await numbers(checks, name)
  return { right: checks.report(), kept: true }
}
