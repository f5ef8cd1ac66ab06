/** What every TokenModel keeps, whatever it computes with. `make` gives the same model each time. */
import { expect, test } from 'vitest'
import type { Gradients, ModelInput, Outputs, Role, TokenModel, TrainStepOptions } from '../../src/model/index.js'
import { roles } from '../../src/model/outputs.js'
import { supervisedSequence } from '../../src/sequence/index.js'
import { expectClose } from '../support/close.js'
import { sequences, temporary } from '../support/models.js'

const numbers = (output: Outputs[Role]): Float32Array => {
  if ('logprobs' in output) return output.logprobs
  return 'values' in output ? output.values : Float32Array.of(output.score)
}

/** A gradient for each output that depends on the sequence and the token alone. */
function gradientOf<R extends Role>(output: Outputs[R], sequence: number, scale = 1): Gradients[R] {
  const values = numbers(output).map((_, t) => -scale * (1.5 + Math.sin(sequence + 0.7 * t)))
  const found = 'logprobs' in output ? { logprobs: values } : 'values' in output ? { values } : { score: values[0]! }
  return found as Gradients[R]
}

export function tokenModelContract<R extends Role>(name: string, make: () => Promise<TokenModel<R>>): void {
  let made = 0
  const directory = (): string => temporary(`${name}-${made++}`.replaceAll(/\W+/g, '-'))
  const withModels = async (count: number, work: (...models: TokenModel<R>[]) => Promise<void>): Promise<void> => {
    const models: TokenModel<R>[] = []
    for (let i = 0; i < count; i++) models.push(await make())
    await work(...models)
    for (const model of models) model.dispose()
  }
  const given = (model: TokenModel<R>): Int32Array[] => sequences([5, 9, 2, 7], Math.min(37, model.vocabSize))
  const train = async (model: TokenModel<R>, some: readonly ModelInput[], offset = 0, scale = 1): Promise<void> =>
    model.forwardBackward(some, (outputs, indices) =>
      outputs.map((out, k) => gradientOf(out, indices[k]! + offset, scale)),
    )
  const scores = async (model: TokenModel<R>): Promise<Float32Array[]> =>
    (await model.score(given(model))).map(output => numbers(output))
  const rates: TrainStepOptions = { lr: 1e-2 }
  /** The sequences of `given`, trained where `isTrained` says so. */
  const trainedAt = (model: TokenModel<R>, isTrained: (token: number, length: number) => boolean) =>
    given(model).map((ids, i) => {
      const trained = Uint8Array.from(ids, (_, t) => Number(isTrained(t, ids.length)))
      return supervisedSequence({ ids, trained, promptId: `prompt ${i}`, row: {} })
    })

  test(`${name}: says what it is`, () =>
    withModels(1, async model => {
      expect(roles).toContain(model.role)
      expect(model.version).toBeGreaterThanOrEqual(0)
      for (const count of [model.vocabSize, model.maxLength]) expect(Number.isInteger(count) && count > 0).toBe(true)
      for (const key of ['train', 'adapterOff', 'entropy', 'media', 'offload'] as const)
        expect(model.capabilities[key]).toBeTypeOf('boolean')
      expect(model.capabilities.exports.length).toBeGreaterThan(0)
    }))

  test(`${name}: scores in the order of the sequences, ragged, the same every time`, () =>
    withModels(1, async model => {
      const all = given(model)
      const found = await scores(model)
      expect(found.map(row => row.length)).toEqual(all.map(ids => (model.role === 'reward' ? 1 : ids.length - 1)))
      for (const value of found.flatMap(row => [...row])) expect(Number.isFinite(value)).toBe(true)
      expect(await scores(model)).toEqual(found)
      const backwards = await model.score(all.toReversed())
      for (const [i, output] of backwards.toReversed().entries()) expectClose(numbers(output), found[i]!, 1e-5)
      expect(await model.score([])).toEqual([])
      if (model.role === 'reward') return
      const late = await model.score(all, { from: [5, 3, 1, 2] })
      for (const [i, from] of [5, 3, 1, 2].entries()) expectClose(numbers(late[i]!), found[i]!.slice(from - 1), 1e-5)
    }))

  test(`${name}: a step goes down the gradient, however the batch was split`, () =>
    withModels(2, async (whole, split) => {
      const before = await scores(whole)
      const seen: number[] = []
      await whole.forwardBackward(given(whole), (outputs, indices) => {
        for (const [k, output] of outputs.entries()) expectClose(numbers(output), before[indices[k]!]!, 1e-5)
        seen.push(...indices)
        return outputs.map((output, k) => gradientOf(output, indices[k]!))
      })
      expect(seen.sort((a, b) => a - b)).toEqual([0, 1, 2, 3])
      for (const [i, ids] of given(split).entries()) await train(split, [ids], i)
      const { norm, version } = await whole.step(rates)
      expect(norm).toBeGreaterThan(0)
      expect(version).toBe(whole.version)
      expect((await split.step(rates)).norm).toBeCloseTo(norm, 3)
      const after = await scores(whole)
      for (const [i, row] of (await scores(split)).entries()) expectClose(row, after[i]!, 1e-4)
      // The gradients are negative throughout: less loss is larger outputs.
      const sum = (rows: Float32Array[]): number => rows.flatMap(row => [...row]).reduce((total, x) => total + x, 0)
      expect(sum(after)).toBeGreaterThan(sum(before))
    }))

  test(`${name}: a sequence has one number per trained token, in outputs and in gradients`, () =>
    withModels(4, async (holes, whole, suffix, late) => {
      // Holes in the middle and at the end; the last but one token is trained in every sequence.
      const some = trainedAt(
        holes,
        (t, length) => (t % 3 !== 0 && t !== length - 1) || t === length - 2 || length === 2,
      )
      const all = await scores(whole)
      const at = (i: number, row: Float32Array): Float32Array =>
        holes.role === 'reward' ? row : row.filter((_, t) => some[i]!.trained[t + 1] === 1)
      for (const packing of ['on', 'off'] as const)
        for (const [i, output] of (await holes.score(some, { packing })).entries())
          expectClose(numbers(output), at(i, all[i]!), 1e-6)
      await holes.forwardBackward(some, (outputs, indices) =>
        outputs.map((output, k) => gradientOf(output, indices[k]!)),
      )
      // The same gradient, with zeros where a token is not trained.
      await whole.forwardBackward(given(whole), (outputs, indices) =>
        outputs.map((output, k) => {
          if ('score' in output) return gradientOf(output, indices[k]!)
          const { trained } = some[indices[k]!]!
          let next = 0
          const spread = numbers(output).map((_, t) =>
            trained[t + 1] === 1 ? -(1.5 + Math.sin(indices[k]! + 0.7 * next++)) : 0,
          )
          return ('logprobs' in output ? { logprobs: spread } : { values: spread }) as Gradients[R]
        }),
      )
      expect((await holes.step(rates)).norm).toBeCloseTo((await whole.step(rates)).norm, 4)
      const after = await scores(whole)
      for (const [i, row] of (await scores(holes)).entries()) expectClose(row, after[i]!, 1e-5)
      if (suffix.role === 'reward') return
      // Without holes: the bits of \`from\`.
      const from = [4, 3, 1, 2]
      const ends = given(suffix).map((ids, i) =>
        supervisedSequence({ ids, trained: new Uint8Array(ids.length).fill(1, from[i]!), promptId: '', row: {} }),
      )
      const gradients = (outputs: readonly Outputs[R][], indices: readonly number[]) =>
        outputs.map((output, k) => gradientOf(output, indices[k]!))
      expect(await suffix.score(ends)).toEqual(await late.score(given(late), { from }))
      await suffix.forwardBackward(ends, gradients)
      await late.forwardBackward(given(late), gradients, { from })
      expect(await suffix.step(rates)).toEqual(await late.step(rates))
      expect(await scores(suffix)).toEqual(await scores(late))
    }))

  test(`${name}: a sequence without trained tokens, and \`from\` beside a sequence, are refused`, () =>
    withModels(1, async model => {
      const nothing = trainedAt(model, () => false)
      const something = trainedAt(model, () => true)
      if (model.role === 'reward')
        expect((await model.score(nothing)).map(output => numbers(output))).toEqual(await scores(model))
      else {
        for (const [call, why] of [
          [() => model.score(nothing), 'sequence 0 has no trained token'],
          [() => train(model, nothing), 'sequence 0 has no trained token'],
          [() => model.score(something, { from: 1 }), 'remove `from`'],
        ] as const) {
          await expect(call()).rejects.toThrow(RangeError)
          await expect(call()).rejects.toThrow(why)
        }
      }
    }))

  test(`${name}: the version counts steps; a step needs gradients, and drops them`, () =>
    withModels(1, async model => {
      const { version } = model
      await expect(model.step(rates)).rejects.toThrow()
      expect(model.version).toBe(version)
      for (const count of [1, 2]) {
        await train(model, given(model))
        const more = count === 2 ? { clipNorm: 0.1, betas: [0.8, 0.9] as const, eps: 1e-6, weightDecay: 0.01 } : {}
        const done = await model.step({ ...rates, ...more })
        expect(done.version).toBe(version + count)
        expect(done.norm).toBeGreaterThan(0.1)
        await expect(model.step(rates)).rejects.toThrow()
      }
      await train(model, given(model))
      model.zeroGrad()
      await expect(model.step(rates)).rejects.toThrow()
      expect(model.version).toBe(version + 2)
    }))

  test(`${name}: half a batch is never applied`, () =>
    withModels(2, async (model, other) => {
      const all = given(model)
      const before = await scores(model)
      const failures: (() => Promise<void>)[] = [
        () =>
          model.forwardBackward(all, (outputs, indices) => {
            if (indices.includes(2)) throw new Error('no loss')
            return outputs.map((output, k) => gradientOf(output, indices[k]!))
          }),
        () => model.forwardBackward(all, () => []),
        () =>
          model.forwardBackward(all, (outputs, indices) =>
            outputs.map((output, k) => gradientOf(output, indices[k]!, indices[k] === 2 ? Number.NaN : 1)),
          ),
        () => model.forwardBackward(all, () => [], { signal: AbortSignal.abort(new Error('enough')) }),
      ]
      for (const fail of failures) {
        await train(model, all)
        await expect(fail()).rejects.toThrow()
        await expect(model.step(rates)).rejects.toThrow(/half a batch/)
        expect(await scores(model)).toEqual(before)
        model.zeroGrad()
      }
      // As if it had never been.
      for (const each of [model, other]) {
        await train(each, all)
        await each.step(rates)
      }
      expect(await scores(model)).toEqual(await scores(other))
    }))

  const numbersThatAreNone = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1e-3, 1e39]
  const wrong: unknown[] = [
    {},
    ...[...numbersThatAreNone, undefined, null, '1e-3'].map(lr => ({ lr })),
    ...[Number.NaN, -1, 0, Number.NEGATIVE_INFINITY].map(clipNorm => ({ ...rates, clipNorm })),
    ...numbersThatAreNone.map(weightDecay => ({ ...rates, weightDecay })),
    ...[...numbersThatAreNone, 0].map(eps => ({ ...rates, eps })),
    ...[...numbersThatAreNone, 1, 2].flatMap(one => [
      { ...rates, betas: [one, 0.9] },
      { ...rates, betas: [0.9, one] },
    ]),
  ]
  test(`${name}: options out of range are refused, nothing has changed, and the gradients are still there`, () =>
    withModels(2, async (model, other) => {
      const before = await scores(model)
      for (const each of [model, other]) await train(each, given(each))
      for (const options of wrong) await expect(model.step(options as TrainStepOptions)).rejects.toThrow(RangeError)
      expect(await scores(model)).toEqual(before)
      expect(await model.step(rates)).toEqual(await other.step(rates))
      expect(await scores(model)).toEqual(await scores(other))
    }))

  const run = async (model: TokenModel<R>, steps: number): Promise<void> => {
    for (let i = 0; i < steps; i++) {
      await train(model, given(model))
      await model.step({ lr: 1e-2 / (1 + i), clipNorm: 1, weightDecay: 0.1 })
    }
  }
  test(`${name}: a state goes on bit for bit`, () =>
    withModels(2, async (straight, resumed) => {
      const saved = directory()
      await run(straight, 2)
      await straight.saveState(saved)
      await run(straight, 2)
      await run(resumed, 1)
      await train(resumed, given(resumed))
      await expect(resumed.saveState(saved)).rejects.toThrow(/step\(\) or zeroGrad\(\) first/)
      await resumed.loadState(saved)
      expect(resumed.version).toBe(straight.version - 2)
      await run(resumed, 2)
      expect(resumed.version).toBe(straight.version)
      expect(await scores(resumed)).toEqual(await scores(straight))
      await expect(resumed.loadState(directory())).rejects.toThrow()
      await expect(resumed.saveState('')).rejects.toThrow()
      expect(await scores(resumed)).toEqual(await scores(straight))
    }))

  test(`${name}: offloaded, it can only be reloaded; then it goes on bit for bit`, () =>
    withModels(2, async (model, other) => {
      if (!model.capabilities.offload) return
      const saved = directory()
      for (const each of [model, other]) {
        await run(each, 2)
        await each.saveState(saved)
        await train(each, given(each))
      }
      await model.offload()
      await model.offload()
      const refused = [
        () => model.score(given(model)),
        () => train(model, given(model)),
        () => model.step(rates),
        () => model.saveState(directory()),
        () => model.loadState(saved),
        ...model.capabilities.exports.map(what => () => model.export(directory(), { what })),
      ]
      for (const call of refused) await expect(call()).rejects.toThrow(/offloaded/)
      await model.reload()
      await model.reload()
      // The gradients were there all the time.
      expect(await model.step(rates)).toEqual(await other.step(rates))
      for (const each of [model, other]) await run(each, 1)
      expect(await scores(model)).toEqual(await scores(other))
    }))

  test(`${name}: exports what it says it can, and changes nothing by it`, () =>
    withModels(1, async model => {
      await run(model, 1)
      const before = await scores(model)
      for (const what of ['model', 'adapter', 'base'] as const) {
        const target = directory()
        if (!model.capabilities.exports.includes(what)) {
          await expect(model.export(target, { what })).rejects.toThrow(/no (adapter|base)/)
          continue
        }
        for (let i = 0; i < 2; i++) {
          const report = await model.export(target, { what })
          expect(report).toMatchObject({ directory: target, what })
          expect(report.parameters).toBeGreaterThan(0)
          expect(report.bytes).toBeGreaterThan(report.parameters)
        }
      }
      await expect(model.export('', { what: 'model' })).rejects.toThrow()
      expect(await scores(model)).toEqual(before)
    }))
}
