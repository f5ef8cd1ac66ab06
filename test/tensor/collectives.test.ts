import { expect, test } from 'vitest'
import { CollectiveError, ProcessGroup, Store, Tensor, zeros } from '../../src/tensor/index.js'
import { runChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'

const script = new URL('./children/collectives.mjs', import.meta.url)
const serve = (): Promise<Store> => Store.open({ host: '127.0.0.1', port: 0, served: 'here', limitMs: 20_000 })
const gloo = { kind: 'gloo', host: '127.0.0.1' } as const

test('two processes compute together, and one that is left alone is told so', async () => {
  const index = compiledRoom('tensor')
  const store = await serve()
  const other = runChild(script, [index, String(store.port), '1', '2'], { timeout: 60_000 })
  expect(await store.text('here/1')).toBe('yes')
  const group = await ProcessGroup.join({
    ...{ store, name: 'test', rank: 0, size: 2, limitMs: 20_000, backend: gloo },
  })
  const [numbers, largest] = [Tensor.from(Float32Array.of(0, 0, 1)), Tensor.from(Int32Array.of(0, 0))]
  const [whole, part] = [Tensor.from(Float32Array.of(0, 1, 2, 3)), zeros([2])]
  const same = Tensor.from(Float32Array.of(0))
  // Started at once: they run in the order of the calls.
  await Promise.all([
    group.allReduce(numbers),
    group.allReduce(largest, { of: 'max' }),
    group.reduceScatter({ whole, part }),
    group.allGather({ whole, part: Tensor.from(Float32Array.of(0, 0.5)) }),
    group.broadcast(same, { from: 1 }),
    group.barrier(),
  ])
  const shown = { numbers: [1, 10, 2], largest: [1, 0], whole: [0, 0.5, 1, 1.5], same: [1] }
  for (const [name, tensor] of Object.entries({ numbers, largest, whole, same }))
    expect([...(await tensor.data<'float32'>())], name).toEqual(shown[name as keyof typeof shown])
  expect([...(await part.data<'float32'>())]).toEqual([1, 3])
  const { stdout, stderr, code } = await other
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toEqual({ ...shown, part: [5, 7] })
  expect(group.use).toMatchObject({ calls: 6, bytes: 12 + 8 + 16 + 16 + 4 })

  // The other process has ended.
  const error = await group.barrier().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(CollectiveError)
  expect((error as Error).message).toMatch(/^rank 0: a collective \(barrier\) failed: /)
  await expect(group.allReduce(numbers)).rejects.toBe(error)
  group.close()
  store.close()
})

test('a store counts, keeps, forgets and waits; a group of one computes alone; an abort ends what waits', async () => {
  const store = await serve()
  expect(await store.add('count', 2)).toBe(2)
  expect(await store.add('count', 3)).toBe(5)
  await store.set('key', Uint8Array.of(1, 0, 255))
  expect(await store.get('key')).toEqual(Uint8Array.of(1, 0, 255))
  expect(await store.has('key')).toBe(true)
  await store.delete('key')
  expect(await store.has('key')).toBe(false)
  await expect(store.get('key', { limitMs: 50 })).rejects.toThrow()
  expect(await store.add('count', 1)).toBe(6)

  const options = { store, rank: 0, limitMs: 20_000, backend: gloo }
  const alone = await ProcessGroup.join({ ...options, name: 'alone', size: 1 })
  const tensor = Tensor.from(Float32Array.of(1, 2))
  const part = zeros([2])
  await alone.allReduce(tensor)
  await alone.reduceScatter({ whole: tensor, part })
  await alone.allGather({ whole: tensor, part })
  expect([...(await tensor.data<'float32'>())]).toEqual([1, 2])
  await expect(alone.reduceScatter({ whole: zeros([3]), part })).rejects.toThrow('times the elements of a part')
  const ended = new CollectiveError('enough')
  alone.abort(ended)
  await expect(alone.allReduce(tensor)).rejects.toBe(ended)
  alone.close()
  store.close()
})
