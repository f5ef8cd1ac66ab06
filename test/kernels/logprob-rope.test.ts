import { expect, test } from 'vitest'
import { fusedOps } from '../../src/kernels/index.js'
import { cat, gradients, manualSeed, randint, randn, record, scope, type Tensor } from '../../src/tensor/index.js'

const ops = fusedOps({ device: 'cpu', dtype: 'float64' })

function distance(a: Tensor, b: Tensor): number {
  return scope(() => a.sub(b).abs().max() as Tensor).item()
}

test('rope turns the first heads and hands the rest through, as the plain composition does', () => {
  manualSeed(1)
  const [rows, rotated, rest, headDim] = [5, 3, 2, 8]
  const half = headDim / 2
  const make = () => {
    const x = randn([rows, (rotated + rest) * headDim], { dtype: 'float64' })
    x.requiresGrad = true
    return x
  }
  const x = make()
  const angles = randn([rows, half], { dtype: 'float64' })
  const [cos, sin] = [angles.cos(), angles.sin()]
  const [first, remaining] = ops.rope({ rotated, rest, headDim })(x, cos, sin)

  const heads = x.view([rows, rotated + rest, headDim])
  const [a, b] = [heads.at('all', [0, rotated], [0, half]), heads.at('all', [0, rotated], [half, headDim])]
  const [c, s] = [cos.unsqueeze(1), sin.unsqueeze(1)]
  const plain = cat([a.mul(c).sub(b.mul(s)), b.mul(c).add(a.mul(s))], 2)
  const others = heads.at('all', [rotated, rotated + rest])
  expect(distance(first, plain)).toBeLessThan(1e-12)
  expect(distance(remaining, others)).toBe(0)

  const [p, q] = [
    randn([rows, rotated, headDim], { dtype: 'float64' }),
    randn([rows, rest, headDim], { dtype: 'float64' }),
  ]
  const [ours] = gradients([first.mul(p).sum().add(remaining.mul(q).sum())], [x])
  const [theirs] = gradients([plain.mul(p).sum().add(others.mul(q).sum())], [x])
  expect(distance(ours!, theirs!)).toBeLessThan(1e-12)
})

test('log-probabilities and entropies of a chunk, and their gradient over it, are those of log_softmax', async () => {
  manualSeed(2)
  const [rows, vocabulary] = [6, 11]
  const logits = randn([rows, vocabulary], { dtype: 'float64' })
  logits.requiresGrad = true
  const targets = randint(0, vocabulary, [rows], { dtype: 'int64' })
  const [dl, de] = [randn([rows], { dtype: 'float64' }), randn([rows], { dtype: 'float64' })]
  const inverse = 0.7
  const logp = logits.mul(inverse).logSoftmax(-1)
  const plain = {
    logprobs: logp.gather(1, targets.unsqueeze(1)).squeeze(1),
    entropy: logp.exp().mul(logp).sum([1]).neg(),
  }
  const chunk = ops.logprobs(vocabulary)
  const scored = chunk.score(logits.detach(), targets, inverse)
  expect(distance(scored.logprobs, plain.logprobs)).toBeLessThan(1e-12)
  expect(distance(scored.entropy, plain.entropy)).toBeLessThan(1e-12)

  const [both] = gradients([plain.logprobs.mul(dl).sum().add(plain.entropy.mul(de).sum())], [logits], {
    retainGraph: true,
  })
  const [alone] = gradients([plain.logprobs.mul(dl).sum()], [logits])
  const run = (dEntropy: Tensor | null) =>
    chunk.gradient_(logits.detach().clone(), targets, inverse, scored, dl, dEntropy)
  expect(distance(run(de), both!)).toBeLessThan(1e-12)
  expect(distance(run(null), alone!)).toBeLessThan(1e-12)

  // The same inside a program, where a model uses it.
  const program = record(['tensor', 'tensor', 'tensor', 'number'], (x, t, g, k) => {
    const found = chunk.score(x, t, k)
    return [found.logprobs, chunk.gradient_(x.clone(), t, k, found, g, null)]
  })
  const [logprobs, gradient] = await program.run(logits.detach(), targets, dl, inverse)
  expect(distance(logprobs!, plain.logprobs)).toBeLessThan(1e-12)
  expect(distance(gradient!, alone!)).toBeLessThan(1e-12)
})
